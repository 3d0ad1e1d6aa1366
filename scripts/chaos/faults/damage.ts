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
import type { RoundFixture } from '../fixture/open-fixture.ts'
import type { SessionPlan } from '../plan/session-plan.ts'

/** The file in which the messages of a session's agent are recorded. */
export const RECORDING = 'recording.jsonl'

/** Leaves half a line at the end of the daemon's log and of every recording, as a power cut does. */
export function damageLogs({ paths, folder }: RoundFixture): boolean {
  const files = [join(paths.logs, 'daemon.log'), ...globSync(join(folder, '*', RECORDING))].filter(file =>
    existsSync(file),
  )
  for (const file of files) appendFileSync(file, '{"level":30,"time":17000000\0\0\0')
  return files.length > 0
}

/** Cuts every checkpoint in half. */
export function cutCheckpoints(fixture: RoundFixture): boolean {
  const files = checkpointsOf(fixture)
  for (const file of files) truncateSync(file, Math.floor(statSync(file).size / 2))
  return files.length > 0
}

export function checkpointsOf({ paths }: RoundFixture): string[] {
  return globSync(join(paths.data, 'checkpoints', '*', '*.json'))
}

/** Deletes the vendor's own transcript of a session's conversation. */
export function loseTranscript(fixture: RoundFixture, session: SessionPlan): boolean {
  const files = transcriptsOf(fixture, session)
  for (const file of files) rmSync(file)
  return files.length > 0
}

export function transcriptsOf(fixture: RoundFixture, session: SessionPlan): string[] {
  const { CLAUDE_CONFIG_DIR: config = '' } = fixture.agentEnvOf(session)
  const folder = fixture.projectOf(session).replace(/[^A-Za-z0-9]/g, '-')
  return globSync(join(config, 'projects', folder, '*.jsonl'))
}

/** Fills the small file system of the data for a moment; without one, the store is told that its disk is full. */
export async function fillDisk({ paths, fullFile }: RoundFixture, forMs: number): Promise<boolean> {
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

/** A marker file in a data directory that is a small file system of its own. */
export const SMALL_DISK = '.small-disk'

function wrote(descriptor: number, block: Buffer): boolean {
  try {
    return writeSync(descriptor, block) === block.length
  } catch {
    return false // full
  }
}
