/** What starts sessions by itself, and what they work with: schedules, triggers, deployments, vaults, environments. */
import { actionOf, byId, listOf, mutationOf, type Base } from '../calls.ts'
import {
  CreateDeploymentDocument,
  CreateEnvironmentDocument,
  CreateScheduleDocument,
  CreateTriggerDocument,
  CreateVaultCredentialDocument,
  CreateVaultDocument,
  DeleteDeploymentDocument,
  DeleteEnvironmentDocument,
  DeleteScheduleDocument,
  DeleteTriggerDocument,
  DeleteVaultCredentialDocument,
  DeleteVaultDocument,
  DeploymentDocument,
  DeploymentsDocument,
  EnvironmentDocument,
  EnvironmentsDocument,
  PauseDeploymentDocument,
  ResumeDeploymentDocument,
  RunDeploymentDocument,
  ScheduleDocument,
  SchedulesDocument,
  TriggerDocument,
  TriggersDocument,
  TryTriggerDocument,
  UpdateScheduleDocument,
  UpdateTriggerDocument,
  UpdateVaultCredentialDocument,
  VaultDocument,
  VaultsDocument,
} from '../generated/documents.ts'

/** `berth.schedules`. */
export function schedulesOf(base: Base) {
  return {
    ...listOf(base, SchedulesDocument, (data) => data.schedules),
    get: byId(base, ScheduleDocument, (data) => data.schedule),
    create: mutationOf(base, CreateScheduleDocument, (data) => data.createSchedule?.schedule),
    update: mutationOf(base, UpdateScheduleDocument, (data) => data.updateSchedule?.schedule),
    delete: actionOf(base, DeleteScheduleDocument, (data) => data.deleteSchedule?.deletedId),
  }
}

/** `berth.triggers`. */
export function triggersOf(base: Base) {
  return {
    ...listOf(base, TriggersDocument, (data) => data.triggers),
    get: byId(base, TriggerDocument, (data) => data.trigger),
    create: mutationOf(base, CreateTriggerDocument, (data) => data.createTrigger?.trigger),
    update: mutationOf(base, UpdateTriggerDocument, (data) => data.updateTrigger?.trigger),
    /** What an event would do, without doing it. */
    test: mutationOf(base, TryTriggerDocument, (data) => data.tryTrigger),
    delete: actionOf(base, DeleteTriggerDocument, (data) => data.deleteTrigger?.deletedId),
  }
}

/** `berth.deployments`. */
export function deploymentsOf(base: Base) {
  return {
    ...listOf(base, DeploymentsDocument, (data) => data.deployments),
    get: byId(base, DeploymentDocument, (data) => data.deployment),
    create: mutationOf(base, CreateDeploymentDocument, (data) => data.createDeployment?.deployment),
    run: actionOf(base, RunDeploymentDocument, (data) => data.runDeployment),
    pause: actionOf(base, PauseDeploymentDocument, (data) => data.pauseDeployment?.deployment),
    resume: actionOf(base, ResumeDeploymentDocument, (data) => data.resumeDeployment?.deployment),
    delete: actionOf(base, DeleteDeploymentDocument, (data) => data.deleteDeployment?.deletedId),
  }
}

/** `berth.vaults`. Secrets are written, and never read. */
export function vaultsOf(base: Base) {
  return {
    ...listOf(base, VaultsDocument, (data) => data.vaults),
    get: byId(base, VaultDocument, (data) => data.vault),
    create: mutationOf(base, CreateVaultDocument, (data) => data.createVault?.vault),
    delete: actionOf(base, DeleteVaultDocument, (data) => data.deleteVault?.deletedId),
    credentials: {
      create: mutationOf(base, CreateVaultCredentialDocument, (data) => data.createVaultCredential?.vaultCredential),
      update: mutationOf(base, UpdateVaultCredentialDocument, (data) => data.updateVaultCredential?.vaultCredential),
      delete: actionOf(base, DeleteVaultCredentialDocument, (data) => data.deleteVaultCredential?.deletedId),
    },
  }
}

/** `berth.environments`. */
export function environmentsOf(base: Base) {
  return {
    ...listOf(base, EnvironmentsDocument, (data) => data.environments),
    get: byId(base, EnvironmentDocument, (data) => data.environment),
    create: mutationOf(base, CreateEnvironmentDocument, (data) => data.createEnvironment?.environment),
    delete: actionOf(base, DeleteEnvironmentDocument, (data) => data.deleteEnvironment?.deletedId),
  }
}
