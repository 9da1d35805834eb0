/** Where one can go in an organization. */
import {
  Activity,
  Bot,
  Boxes,
  Brain,
  CalendarClock,
  Container,
  Database,
  Files,
  FolderKanban,
  Globe,
  GraduationCap,
  Hammer,
  House,
  KeyRound,
  Layers,
  MessagesSquare,
  NotebookPen,
  ScrollText,
  Server,
  Settings as SettingsIcon,
  SquareFunction,
  Users,
  UsersRound,
  Vault,
  Webhook,
  type LucideIcon,
} from 'lucide-react'

/** A place: the key that goes there after `g`, and the path below the organization. */
type Place = { path: string; name: string; key: string; icon: LucideIcon }

const home: Place = { path: '', name: 'Home', key: 'h', icon: House }
const infrastructure: readonly Place[] = [
  { path: 'vms', name: 'VMs', key: 'v', icon: Boxes },
  { path: 'databases', name: 'Databases', key: 'd', icon: Database },
  { path: 'builds', name: 'Builds', key: 'b', icon: Hammer },
  { path: 'templates', name: 'Templates', key: 'j', icon: Layers },
  { path: 'functions', name: 'Functions', key: 'f', icon: SquareFunction },
  { path: 'domains', name: 'Domains', key: 'n', icon: Globe },
  { path: 'projects', name: 'Projects', key: 'p', icon: FolderKanban },
]
const agents: readonly Place[] = [
  { path: 'agents', name: 'Agents', key: 'a', icon: Bot },
  { path: 'sessions', name: 'Sessions', key: 's', icon: MessagesSquare },
  { path: 'groups', name: 'Groups', key: 'r', icon: UsersRound },
  { path: 'environments', name: 'Environments', key: 'e', icon: Container },
  { path: 'automation', name: 'Automation', key: 'w', icon: CalendarClock },
  { path: 'vaults', name: 'Vaults', key: 't', icon: Vault },
  { path: 'skills', name: 'Skills', key: 'i', icon: GraduationCap },
  { path: 'memories', name: 'Memories', key: 'y', icon: NotebookPen },
  { path: 'files', name: 'Files', key: 'x', icon: Files },
]
const inference: readonly Place[] = [{ path: 'models', name: 'Models', key: 'o', icon: Brain }]
const organization: readonly Place[] = [
  { path: 'usage', name: 'Usage', key: 'u', icon: Activity },
  { path: 'keys', name: 'Keys', key: 'k', icon: KeyRound },
  { path: 'members', name: 'Members', key: 'm', icon: Users },
  { path: 'webhooks', name: 'Webhooks', key: 'q', icon: Webhook },
  { path: 'audit', name: 'Audit', key: 'l', icon: ScrollText },
  { path: 'settings', name: 'Settings', key: 'c', icon: SettingsIcon },
  { path: 'host', name: 'Host', key: 'z', icon: Server },
]

/** The places of the console in their order, under the names of what they have in common; the first stands by itself. */
export const placesByGroup: readonly (readonly [group: string | null, places: readonly Place[]])[] = [
  [null, [home]],
  ['Infrastructure', infrastructure],
  ['Agents', agents],
  ['Inference', inference],
  ['Organization', organization],
]
/** All of them. */
export const places: readonly Place[] = placesByGroup.flatMap(([, ofGroup]) => ofGroup)
