"""What is refused, and how a program sees it: a code to decide by, a sentence for people, and an id for the operator's log."""

from berth import BerthError, call


def refused(method, path, body=None, **ids):
    """Prints why a call is refused."""
    try:
        call(method, path, body, **ids)
    except BerthError as error:
        print(error.status, error.code, error.request_id)
        print(error)
    else:
        raise SystemExit(f"{path} was not refused.")


refused("GET", "/api/v1/vms/{vm_id}", vm_id="vm_00000000000000000000000000")
refused("POST", "/api/v1/vms", {"memory_mb": "much"})
refused("GET", "/agents/v1/sessions/{id}", id="sesn_00000000000000000000000000")
