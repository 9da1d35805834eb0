/** Who may do what with webhooks: see ../matrix.ts. Only admins may, and no key. */
import type { GraphqlRow, Outcomes } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const noKeys = '401 unauthorized'
const admins = (stranger: string): Outcomes => ['200', tooLittle, tooLittle, stranger, noKeys, noKeys]
const absent = '404 not_found'

/** Every root field of GraphQL about webhooks. */
export const webhooksGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query webhookEndpoint': { outcomes: admins(absent), args: 'id: "{webhook}"' },
  'query webhookEndpoints': { outcomes: admins('200'), args: 'first: 5' },
  'query webhookEvent': { outcomes: admins(absent), args: 'id: "{webhook_event}"' },
  'query webhookEvents': { outcomes: admins('200'), args: 'first: 5' },
  'query webhookDelivery': { outcomes: admins(absent), args: 'id: "{delivery}"' },
  'mutation createWebhookEndpoint': { outcomes: admins('200'), args: 'url: "https://hooks.example/{fresh}"' },
  'mutation updateWebhookEndpoint': { outcomes: admins(absent), args: 'id: "{webhook}", enabled: false' },
  'mutation rotateWebhookEndpointSecret': { outcomes: admins(absent), args: 'id: "{webhook}"' },
  'mutation deleteWebhookEndpoint': { outcomes: admins(absent), args: 'id: "{webhook}"' },
  'mutation replayWebhookDelivery': { outcomes: admins(absent), args: 'id: "{delivery}"' },
  'mutation sendTestWebhookEvent': { outcomes: admins(absent), args: 'id: "{webhook}"' },
  'subscription webhookDeliveryEvents': { outcomes: admins(absent), args: 'endpointId: "{webhook}", after: "0"' },
}
