"""Clock, power and temperature of the GPU, read while a point runs.

NVML is asked directly where its library can be loaded (some microseconds a reading, so that
readings fall inside the point); otherwise a background nvidia-smi is read, ten lines a second;
without either, cells stay empty. Nothing is ever set: clocks and limits are used as found.
"""
import ctypes
import statistics
import subprocess
import threading
import time

CLOCK_SM = 1            # nvmlClockType_t
POWER_INSTANT = 186     # NVML_FI_DEV_POWER_INSTANT, milliwatts


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t"""
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint),
                ("timestamp", ctypes.c_longlong), ("latency_us", ctypes.c_longlong),
                ("value_type", ctypes.c_int), ("status", ctypes.c_int), ("value",
                                                                         ctypes.c_ulonglong)]


class Nvml:
    def __init__(self, uuid):
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        if self.lib.nvmlInit_v2():
            raise OSError("nvmlInit failed")
        self.device = ctypes.c_void_p()
        found = 1
        if uuid:
            found = self.lib.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self.device))
        if found:
            found = self.lib.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(0),
                                                           ctypes.byref(self.device))
        if found:
            raise OSError("NVML does not know the device")
        field = FieldValue(field=POWER_INSTANT)
        self.instant = not self.lib.nvmlDeviceGetFieldValues(self.device, 1, ctypes.byref(field)) \
            and field.status == 0 and 0 < self.low_word(field) < 10_000_000
        self.read()

    @staticmethod
    def low_word(field):
        return field.value & 0xffffffff     # an unsigned int in the union

    def number(self, name, *args):
        value = ctypes.c_uint()
        status = getattr(self.lib, name)(self.device, *args, ctypes.byref(value))
        return None if status else value.value

    def read(self):
        """(MHz, watts, degrees Celsius), None where the driver does not say."""
        milliwatts = None
        if self.instant:
            field = FieldValue(field=POWER_INSTANT)
            if not self.lib.nvmlDeviceGetFieldValues(self.device, 1, ctypes.byref(field)) \
                    and field.status == 0:
                milliwatts = self.low_word(field)
        if milliwatts is None:
            milliwatts = self.number("nvmlDeviceGetPowerUsage")
        return (self.number("nvmlDeviceGetClockInfo", ctypes.c_int(CLOCK_SM)),
                None if milliwatts is None else milliwatts / 1000,
                self.number("nvmlDeviceGetTemperature", ctypes.c_int(0)))

    def limit_w(self):
        limit = self.number("nvmlDeviceGetEnforcedPowerLimit")
        return limit / 1000 if limit else None

    def driver(self):
        text = ctypes.create_string_buffer(96)
        return "" if self.lib.nvmlSystemGetDriverVersion(text, 96) else text.value.decode()

    def close(self):
        self.lib.nvmlShutdown()


def parse_line(line):
    """(MHz, watts, Celsius) of one nvidia-smi line, None in the place of '[N/A]'."""
    cells = []
    for text in line.split(","):
        try:
            cells.append(float(text))
        except ValueError:
            cells.append(None)
    return tuple(cells) if len(cells) == 3 else None


class Smi:
    def __init__(self, uuid):
        which = ["-i", uuid] if uuid else ["-i", "0"]
        self.which = which
        self.process = subprocess.Popen(
            ["nvidia-smi", *which, "--query-gpu=clocks.sm,power.draw,temperature.gpu",
             "--format=csv,noheader,nounits", "-lms", "100"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.last = (None, None, None)
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.process.stdout:
            self.last = parse_line(line) or self.last

    def read(self):
        return self.last

    def ask(self, field):
        try:
            return subprocess.run(
                ["nvidia-smi", *self.which, f"--query-gpu={field}",
                 "--format=csv,noheader,nounits"],
                capture_output=True, text=True, timeout=20, check=True).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""

    def limit_w(self):
        try:
            return float(self.ask("power.limit"))
        except ValueError:
            return None

    def driver(self):
        return self.ask("driver_version")

    def close(self):
        self.process.terminate()
        self.process.wait()


class Blind:
    """No way to look: every cell stays empty."""

    def read(self):
        return None, None, None

    def limit_w(self):
        return None

    def driver(self):
        return ""

    def close(self):
        pass


def open_sensor(uuid):
    for kind in (Nvml, Smi):
        try:
            return kind(uuid)
        except (OSError, AttributeError):
            continue
    return Blind()


class Samples:
    """Readings during one point, at most one in `every_s` seconds."""

    def __init__(self, sensor, every_s=0.004):
        self.sensor, self.every_s, self.seen, self.next = sensor, every_s, [], 0.0

    def take(self):
        now = time.perf_counter()
        if now >= self.next:
            self.seen.append(self.sensor.read())
            self.next = now + self.every_s

    def medians(self):
        """(MHz, watts, Celsius), rounded to what a sensor can tell."""
        result = []
        for i in range(3):
            values = [s[i] for s in self.seen if s[i] is not None]
            result.append(round(statistics.median(values)) if values else None)
        return result
