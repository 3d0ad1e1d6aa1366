import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AppPaths } from '../../base/app-paths.ts'
import { secretId } from '../../base/ids.ts'
import { parentOf, rawStartTime } from '../../base/process/process-table.ts'

type Env = Record<string, string | undefined>

/** Says that an agent was started by pcc for itself: to judge or to verify. The value is the id of that call. */
export const OWN_CALL = 'PCC_OWN_CALL'
/** How many calls of ours are around this one. */
export const OWN_CALL_DEPTH = 'PCC_OWN_CALL_DEPTH'
/** One call of ours may use an agent that calls us; more is a loop. */
const MOST_DEPTH = 2
/** A hook is a few processes below the call. */
const MOST_STEPS = 32

export interface OwnCall extends Disposable {
  /** For the environment of the agent. */
  env: Record<string, string>
}

/** Announces a call of an agent by pcc itself, so that its hooks answer at once. The call is over when this is disposed. */
export function openOwnCall({ run }: Pick<AppPaths, 'run'>, env: Env = process.env): OwnCall {
  const id = secretId(18)
  const file = join(folderIn(run), id)
  mkdirSync(folderIn(run), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${process.pid} ${rawStartTime(process.pid) ?? ''}`, { mode: 0o600, flag: 'wx' })
  return {
    env: { [OWN_CALL]: id, [OWN_CALL_DEPTH]: String(depthOf(env) + 1) },
    [Symbol.dispose]: () => rmSync(file, { force: true }),
  }
}

/**
 * Whether a hook runs inside a call of ours: its environment names one that is under way, and the process that opened that call is above
 * the hook. The variable alone says nothing, because whoever starts an agent can set it.
 */
export function isInOwnCall({ run }: Pick<AppPaths, 'run'>, { env, ppid }: { env: Env; ppid: number }): boolean {
  const id = env[OWN_CALL] ?? ''
  if (!/^[\w-]{20,40}$/.test(id)) return false
  const [pid = 0, startTime = ''] = readOpener(join(folderIn(run), id))
  if (pid === 0 || startTime === '' || rawStartTime(pid) !== startTime) return false
  let at: number | undefined = ppid
  for (let step = 0; at !== undefined && at > 1 && step < MOST_STEPS; step++) {
    if (at === pid) return true
    at = parentOf(at)
  }
  return false
}

/** Whether calls of ours are nested so deep that it can only be a loop. */
export function isTooDeep(env: Env): boolean {
  return depthOf(env) > MOST_DEPTH
}

function depthOf(env: Env): number {
  const depth = Number(env[OWN_CALL_DEPTH] ?? 0)
  return Number.isInteger(depth) && depth > 0 ? depth : 0
}

function folderIn(run: string): string {
  return join(run, 'own-calls')
}

function readOpener(file: string): [pid: number, startTime: string] | [] {
  try {
    const [pid = '', startTime = ''] = readFileSync(file, 'utf8').split(' ')
    return [Number(pid), startTime]
  } catch {
    return [] // there is no such call, or it is over
  }
}
