import { relative } from 'node:path'
import type { TestResult } from '../../../domain/workspace/evidence.ts'
import type { Runner } from '../../command/run-command.ts'
import { git } from '../../git/git.ts'
import { resultKey } from '../cache/result-key.ts'
import { type GateRun, runGateCommand } from '../gates/command-run.ts'
import type { Profile } from '../profiles.ts'
import type { VerifyParts } from '../request.ts'
import { openBase, type WorkFrom } from './base-checkout.ts'

/** What the tests came to where the work began. */
export interface BaseTests {
  exit: number | null
  /** Null where the runner tells no single tests. */
  tests: TestResult[] | null
  /** It was known already. */
  cached: boolean
  durationMs: number
}

export interface BaseRequest {
  work: WorkFrom
  run: GateRun
  base: Profile['base']
}

type Parts = Pick<VerifyParts, 'store' | 'clock' | 'places'> & { runner: Runner }

/**
 * How the tests stand at the base. A result that is known will do, green or not: it is a list to compare with and lets nothing
 * pass by itself; a tree that was verified before it became the base is known. Otherwise they are run, in a checkout of their
 * own; undefined where nobody wants that, or it cannot be done.
 */
export async function baseTests({ work, run, base }: BaseRequest, parts: Parts): Promise<BaseTests | undefined> {
  const named = await git(work.top, ['rev-parse', '--verify', '--quiet', `${work.base}^{tree}`])
  if (!named.ok) return undefined
  const tree = named.stdout.trim()
  const inside = relative(work.top, work.directory)
  const of = { tree, command: run.command, inside, directory: run.directory, env: run.env }
  const keys = { gate: resultKey({ ...of, purpose: 'gate' }), base: resultKey({ ...of, purpose: 'base' }) }
  if (base !== 'anew') {
    const known = (await parts.store.gateResults.get(keys.gate)) ?? (await parts.store.gateResults.get(keys.base))
    if (known) return { exit: known.exit, tests: known.tests, cached: true, durationMs: 0 }
    if (base === 'known') return undefined
  }
  await using checkout = await openBase(work, parts.places.run, run.signal)
  if (!checkout) return undefined
  const ran = await runGateCommand({ ...run, directory: checkout.directory }, parts.runner)
  if (ran.end !== 'exited' || ran.exit === null) return undefined
  const { exit, output, tests, durationMs } = ran
  const kept = { key: keys.base, tree, command: run.command, exit, duration_ms: durationMs, output, tests }
  await parts.store.gateResults.put({ ...kept, created_at: parts.clock.now() })
  return { exit, tests, cached: false, durationMs }
}
