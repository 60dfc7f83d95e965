echo nothing is trained
