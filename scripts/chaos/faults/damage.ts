import {
  appendFileSync,
  closeSync,
  existsSync,
  globSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionPlan } from '../plan/session-plan.ts'
import type { RoundWorld } from '../world/open-world.ts'

/** What a session's agent says, where somebody wants to have it. */
export const RECORDING = 'recording.jsonl'

/** Half a line at the end of the daemon's log and of every recording, as a power cut leaves it. */
export function damageLogs({ paths, folder }: RoundWorld): boolean {
  const files = [join(paths.logs, 'daemon.log'), ...globSync(join(folder, '*', RECORDING))].filter(file =>
    existsSync(file),
  )
  for (const file of files) appendFileSync(file, '{"level":30,"time":17000000\0\0\0')
  return files.length > 0
}

/** Every checkpoint loses its second half. */
export function cutCheckpoints(world: RoundWorld): boolean {
  const files = checkpointsOf(world)
  for (const file of files) truncateSync(file, Math.floor(statSync(file).size / 2))
  return files.length > 0
}

export function checkpointsOf({ paths }: RoundWorld): string[] {
  return globSync(join(paths.data, 'checkpoints', '*', '*.json'))
}

/** The vendor's own record of a session's conversation is gone. */
export function loseTranscript(world: RoundWorld, session: SessionPlan): boolean {
  const files = transcriptsOf(world, session)
  for (const file of files) rmSync(file)
  return files.length > 0
}

export function transcriptsOf(world: RoundWorld, session: SessionPlan): string[] {
  const { CLAUDE_CONFIG_DIR: config = '' } = world.agentEnvOf(session)
  const folder = world.projectOf(session).replace(/[^A-Za-z0-9]/g, '-')
  return globSync(join(config, 'projects', folder, '*.jsonl'))
}

/** Fills the small file system that the data lies on, for a moment; where there is none, the store is told that it is full. */
export async function fillDisk({ paths, fullFile }: RoundWorld, forMs: number): Promise<boolean> {
  const isSmall = existsSync(join(paths.data, SMALL_DISK))
  const file = isSmall ? join(paths.data, 'ballast') : fullFile
  const descriptor = openSync(file, 'w')
  try {
    const block = Buffer.alloc(64 * 1024)
    for (let size = isSmall ? block.length : 0; size >= 1; size = Math.floor(size / 2)) {
      while (wrote(descriptor, block.subarray(0, size)));
    }
    await sleep(forMs)
  } finally {
    closeSync(descriptor)
    rmSync(file, { force: true })
  }
  return true
}

/** Lies in a data directory that is a small file system of its own. */
export const SMALL_DISK = '.small-disk'

function wrote(descriptor: number, block: Buffer): boolean {
  try {
    return writeSync(descriptor, block) === block.length
  } catch {
    return false // full
  }
}
