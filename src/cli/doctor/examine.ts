import { AppError, messageOf } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { findClient } from '../client.ts'
import { checkDaemon } from './checks/daemon.ts'
import { checkFiles } from './checks/files.ts'
import { checkPrograms } from './checks/programs.ts'
import { checkSettings } from './checks/settings.ts'
import { checkStore } from './checks/store.ts'
import { type Check, type Finding, type Patient, problem } from './finding.ts'

const CHECKS: Record<string, Check> = {
  programs: checkPrograms,
  config: checkSettings,
  files: checkFiles,
  store: checkStore,
  daemon: checkDaemon,
}

/** Looks at everything. A check that fails is a finding of its own; none of them keeps the others from being made. */
export async function examine(places: Places, env: Record<string, string | undefined>): Promise<Finding[]> {
  const config = await loadConfig({ places, env }).then(
    loaded => loaded.config,
    () => undefined, // told by the check of the settings
  )
  const { client, silent } = await findClient(places).then(
    found => ({ client: found, silent: undefined }),
    error => ({ client: undefined, silent: isSilent(error) ? error : undefined }),
  )
  const patient: Patient = { places, env, now: Date.now(), config, client, silent }
  const findings = await Promise.all(Object.entries(CHECKS).map(([area, check]) => made(area, check, patient)))
  return findings.flat()
}

async function made(area: string, check: Check, patient: Patient): Promise<Finding[]> {
  try {
    return await check(patient)
  } catch (error) {
    return [problem(area, `it could not be checked: ${messageOf(error)}`, 'Mend that first, then look again.')]
  }
}

function isSilent(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'daemon_silent'
}
