"""What VMs were used for and cost, the newest use first."""

from berth import call

PAGE = 100

cost, offset = 0.0, 0
while True:
    page = call("GET", "/api/v1/usage", query={"limit": PAGE, "offset": offset})["sessions"]
    for use in page:
        print(use["vm_id"], use["started_at"], use["end_reason"], use["duration_minutes"], use["total_cost_billed"])
        cost += use["total_cost_billed"] or 0
    offset += len(page)
    if len(page) < PAGE:
        break
print(f"{offset} uses, {cost:.2f} USD")
