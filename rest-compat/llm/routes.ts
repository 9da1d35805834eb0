/** Every path of the inference gateway, by noun. */
import type { Routes } from '../routes.ts'
import { modelRoutes } from './models.ts'

/** The routes of the gateway's surface. */
export const llmRoutes: Routes = { ...modelRoutes }
