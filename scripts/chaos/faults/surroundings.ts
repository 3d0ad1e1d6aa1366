import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bareEnv } from '../../../test/support/world.ts'
import type { RoundFixture } from '../fixture/open-fixture.ts'

/** A session may be queued, or wait for a person, before it meets the refusal. */
const REFUSED_MS = 300_000

/** The person notices the refused login, and logs in again some time later. */
export async function loseLogin({ simulator, loginFile }: RoundFixture, forMs: number): Promise<boolean> {
  const refused = await simulator
    .waitForRequest(({ response }) => response === 'unauthorized', AbortSignal.timeout(REFUSED_MS))
    .then(() => true)
    .catch(() => false) // the refusal never happened
  if (refused) await sleep(forMs)
  writeFileSync(loginFile, '')
  return refused
}

const PERSONAL = 'A line that a person is writing.\n'

/**
 * A person edits a file of the checkout and reverts it later. Reports what happened to the line if it did not stay.
 */
export async function dirtyCheckout(project: string, forMs: number): Promise<string | undefined> {
  const file = join(project, 'README.md')
  appendFileSync(file, PERSONAL)
  await sleep(forMs)
  const isKept = readFileSync(file, 'utf8').endsWith(PERSONAL)
  while (!takenBack(project)) await sleep(100)
  return isKept ? undefined : 'what a person had written and not committed was overwritten'
}

/** The holder of the index lock makes everybody else wait, including people. */
function takenBack(project: string): boolean {
  try {
    execFileSync('git', ['checkout', '-q', '--', 'README.md'], { cwd: project, env: bareEnv(project), stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

/** Removes the remote of the project; every other time permanently. */
export async function loseRemote(folder: string, forMs: number): Promise<boolean> {
  const remote = join(folder, 'origin.git')
  if (!existsSync(remote)) return false
  renameSync(remote, `${remote}.away`)
  await sleep(forMs)
  if (forMs % 2 === 0) renameSync(`${remote}.away`, remote)
  return true
}
