/** Who may do what with the files of a VM: rows as in matrix.ts. What is inside a VM takes what a command takes. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'
import { absent, noScope, readsInside } from './outcomes.ts'

const inside = (yes: string, stranger = absent): Outcomes => readsInside(yes, stranger)

/** Every REST operation of the files of a VM. */
export const vmFileRows: Readonly<Record<string, RestRow>> = {
  'POST /api/v1/vms/{vm_id}/envd/delete': {
    outcomes: inside('500 internal_error', noScope),
    body: { path: '/home/user/x' },
  },
  'GET /api/v1/vms/{vm_id}/files': {
    outcomes: inside('502 vm_unreachable'),
    query: '?path=/home/user/x',
  },
  'PUT /api/v1/vms/{vm_id}/files': {
    outcomes: inside('502 vm_unreachable'),
    query: '?path=/home/user/x',
    body: {},
  },
  'POST /api/v1/vms/{vm_id}/file-urls': {
    outcomes: inside('201'),
    body: { path: '/home/user/x', method: 'GET' },
  },
  'POST /api/v1/vms/{vm_id}/envd/read': {
    outcomes: inside('502 vm_unreachable'),
    body: { path: '/home/user/x' },
  },
  'POST /api/v1/vms/{vm_id}/envd/write': {
    outcomes: inside('502 vm_unreachable'),
    body: { path: '/home/user/x', content: 'eA==' },
  },
  'POST /api/v1/vms/{vm_id}/envd/list': {
    outcomes: inside('502 vm_unreachable'),
    body: { path: '/home/user' },
  },
  'POST /api/v1/vms/{vm_id}/envd/mkdir': {
    outcomes: inside('502 vm_unreachable'),
    body: { path: '/home/user/x' },
  },
  'POST /api/v1/vms/{vm_id}/envd/rename': {
    outcomes: inside('502 vm_unreachable'),
    body: { path: '/home/user/x', new_path: '/home/user/y' },
  },
}

const inVm = 'vmId: "{vm}"'

/** Every root field of GraphQL that changes them. */
export const vmFileGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'mutation writeVmFile': {
    outcomes: inside('502 vm_unreachable'),
    args: `${inVm}, path: "/home/user/x", content: "eA=="`,
  },
  'mutation createVmFileUrl': {
    outcomes: inside('200'),
    args: `${inVm}, path: "/home/user/x", method: GET`,
  },
  'mutation createVmFolder': { outcomes: inside('502 vm_unreachable'), args: `${inVm}, path: "/home/user/x"` },
  'mutation renameVmPath': {
    outcomes: inside('502 vm_unreachable'),
    args: `${inVm}, path: "/home/user/x", newPath: "/home/user/y"`,
  },
  'mutation removeVmPath': { outcomes: inside('502 vm_unreachable'), args: `${inVm}, path: "/home/user/x"` },
}
