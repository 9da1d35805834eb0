"""Makes a VM, runs a command in it, pauses it with its memory, goes on, and deletes it."""

import time

from berth import call

STATUS_SECONDS = 120  # the first VM of a host waits for its template


def until(status, vm_id):
    """Waits until the VM has a status."""
    end = time.monotonic() + STATUS_SECONDS
    while True:
        now = call("GET", "/api/v1/vms/{vm_id}", vm_id=vm_id)["status"]
        if now == status:
            return print(status)
        if time.monotonic() > end:
            raise SystemExit(f"The VM is {now}, and not {status}.")
        time.sleep(1)


vm = call("POST", "/api/v1/vms", {"name": "from-python", "env": {"GREETING": "Hello"}})["vm_id"]
try:
    until("running", vm)
    done = call("POST", "/api/v1/vms/{vm_id}/envd/exec", {"command": "echo $GREETING; exit 3"}, vm_id=vm)
    print(done["exit_code"], done["stdout"], end="")
    call("POST", "/api/v1/vms/{vm_id}/pause", vm_id=vm)
    until("paused", vm)
    call("POST", "/api/v1/vms/{vm_id}/resume", vm_id=vm)
    until("running", vm)
finally:
    call("DELETE", "/api/v1/vms/{vm_id}", vm_id=vm)
