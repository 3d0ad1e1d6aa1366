import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive, startTimeOf } from '../../../base/process/start-time.ts'

/** What a lock of ours says: which way the checkout was to go, and who was at it. */
export interface OurLock {
  from: string
  to: string
  /** Whoever took it is at work. */
  isHeld: boolean
}

/**
 * Takes the lock that git itself takes before it changes a checkout's index, so that nobody commits there while files and branch
 * do not fit. It says that it is ours: after a crash it is known whose it is, and how far things can have come. False where it
 * is taken.
 */
export async function takeIndexLock(own: string, from: string, to: string): Promise<boolean> {
  const draft = join(own, `pcc-lock-${randomUUID()}`)
  const words = [WORD, from, to, process.pid, (await startTimeOf(process.pid)) ?? '']
  await writeFile(draft, `${words.join(' ')}\n`)
  try {
    await link(draft, lockOf(own)) // with its words from the first moment on
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The lock of a checkout, where one of us has left it. */
export async function ourIndexLock(own: string): Promise<OurLock | undefined> {
  const text = await readFile(lockOf(own), 'latin1').catch(() => '')
  const [word, from, to, pid, ...start] = text.trimEnd().split(' ')
  if (word !== WORD || from === undefined || to === undefined) return undefined
  return { from, to, isHeld: await isAlive({ pid: Number(pid), startTime: start.join(' ') }) }
}

/** Gives the lock back. */
export function freeIndexLock(own: string): Promise<void> {
  return rm(lockOf(own), { force: true })
}

const WORD = 'pcc-merge'

function lockOf(own: string): string {
  return join(own, 'index.lock')
}
