import { relative } from 'node:path'
import { openGuard } from '../../base/process/guardian.ts'
import type { NewEvidence } from '../../domain/workspace/evidence.ts'
import { isProvenBy } from '../../domain/workspace/proven.ts'
import { commandEnvironment } from '../command/environment.ts'
import { commandMarkers } from '../command/markers.ts'
import type { Runner } from '../command/run-command.ts'
import type { WorkFrom } from './base/base-checkout.ts'
import { baseTests } from './base/base-tests.ts'
import type { GateCommand } from './gate-settings.ts'
import { acceptanceGate } from './gates/acceptance-gate.ts'
import { allowed } from './gates/allowed.ts'
import { commandGate } from './gates/command-gate.ts'
import { criteriaIn, judgeCriteria } from './gates/criteria.ts'
import { diffGate } from './gates/diff-gate.ts'
import { planGate } from './gates/plan-gate.ts'
import { regressionGate } from './gates/regression-gate.ts'
import { type Seen, seen } from './gates/seen.ts'
import { verifierGate } from './gates/verifier-gate.ts'
import { PROFILES } from './profiles.ts'
import type { Judge, VerifyParts, VerifyRequest } from './request.ts'
import { ignoredSources } from './tree/ignored-sources.ts'
import type { Subject } from './tree/subject.ts'
import type { Watch } from './tree/watch.ts'

export interface Looking {
  request: VerifyRequest
  parts: VerifyParts
  subject: Subject
  /** What git ignores there. */
  ignored: readonly string[]
  watch: Watch | undefined
  /** What a gate saw, as it will stand in its row. */
  asRow(seen: Seen): NewEvidence
}

/** Lets all gates of the profile look at a tree: what costs nothing first, agents last and only where nothing failed before. */
export async function lookAtTree(looking: Looking): Promise<Seen[]> {
  const { request, subject } = looking
  const { gates, signal, place } = request
  const head = subject.commit ?? subject.tree
  const base = place?.base ?? request.began
  const top = place?.top ?? subject.folder?.top
  const diff =
    base !== undefined && head !== null && top !== undefined
      ? { directory: top, base, head, settings: gates.diff, judge: looking.parts.judgeDiff, signal }
      : undefined
  const ignored = place ? await ignoredSources(place.top, place.base, looking.ignored) : []
  const checks: Seen[] = [planGate(request), withFindings(await diffGate(diff), ignored)]
  const runner = runnerOf(looking.parts)
  for (const name of PROFILES[gates.profile].commands) {
    signal.throwIfAborted()
    checks.push(await oneCommand(name, looking, runner))
  }
  const compared = await withBase(checks, looking, runner)
  signal.throwIfAborted()
  const judged = await withOpinions(compared, looking)
  return judged.map(check => allowed(check, gates.diff.allow))
}

function withFindings(check: Seen, more: Seen['findings']): Seen {
  return more.length === 0 ? check : { ...check, status: 'failed', findings: [...check.findings, ...more] }
}

async function oneCommand(gate: GateCommand, looking: Looking, runner: Runner): Promise<Seen> {
  const run = runOf(gate, looking)
  if (!run) return seen({ gate, kind: 'command', status: 'skipped', output: `No command: gates.${gate} is not set.` })
  const { place, directory, gates } = looking.request
  const { store, clock } = looking.parts
  const { tree, folder } = looking.subject
  const inside = relative(place?.top ?? folder?.top ?? directory, directory)
  const cache = PROFILES[gates.profile].cache
  return commandGate({ ...run, tree, inside, cache }, { store, clock, runner, keeper: looking.watch?.after })
}

function runOf(gate: GateCommand, { request, parts }: Looking) {
  const command = request.gates.commands[gate]
  if (command === undefined) return undefined
  const { directory, signal, gates } = request
  const env = commandEnvironment(parts.env, gates.env)
  return { gate, command, directory, env, timeoutMs: gates.timeoutMs, signal }
}

/** Puts the comparison with the base beside the tests, where there are any. */
async function withBase(checks: readonly Seen[], looking: Looking, runner: Runner): Promise<Seen[]> {
  const { gates } = looking.request
  const work = workFrom(looking)
  const tests = checks.find(({ gate, kind }) => kind === 'command' && gate === 'test')
  const run = runOf('test', looking)
  if (!tests || !run || !['passed', 'failed', 'flaky'].includes(tests.status)) return [...checks]
  // Green as a whole, with nothing to compare one by one: the base would tell nothing.
  const isAll = tests.tests === null && tests.status === 'passed'
  const wanted = { run, base: isAll ? 'known' : PROFILES[gates.profile].base } as const
  const base = work && (await baseTests({ work, ...wanted }, { ...looking.parts, runner }))
  const both = regressionGate(tests, base, gates.knownFailures)
  return [...checks.map(check => (check === tests ? both.tests : check)), both.regression]
}

/** From where the work began; nobody knows where there is no git, and nothing was noted. */
function workFrom({ request: { place, began, directory }, subject: { folder } }: Looking): WorkFrom | undefined {
  if (place) return place
  return folder && began !== undefined ? { top: folder.top, directory, base: began } : undefined
}

/** The acceptance criteria, with what a second agent says of them where one is to be asked. */
async function withOpinions(checks: readonly Seen[], looking: Looking): Promise<Seen[]> {
  const { request, parts } = looking
  const texts = criteriaIn(request.task.acceptance)
  const known = judgeCriteria(texts, checks, [])
  const rest = [...checks]
  const isWanted = wantsVerifier(request, isProvenBy(checks) && known.every(({ status }) => status !== 'unproven'))
  const verifier = isWanted ? await asked('verifier', parts.judge, { looking, checks, texts }) : undefined
  if (verifier) rest.push(verifier.seen)
  const second = await asked('second-opinion', parts.secondOpinion, { looking, checks: rest, texts })
  if (second && parts.secondOpinion) rest.push(second.seen)
  return [...rest, acceptanceGate(judgeCriteria(texts, checks, verifier?.opinions ?? []))]
}

function wantsVerifier({ gates }: VerifyRequest, isProven: boolean): boolean {
  if (gates.verifier !== 'auto') return gates.verifier === 'on'
  const { verifier } = PROFILES[gates.profile]
  return verifier === 'always' || (verifier === 'unproven' && !isProven)
}

interface Asking {
  looking: Looking
  checks: readonly Seen[]
  texts: string[]
}

/** Work that something else keeps from being done goes back without an agent's opinion, which costs. */
async function asked(
  gate: 'verifier' | 'second-opinion',
  judge: Judge | undefined,
  { looking, checks, texts }: Asking,
) {
  const skipped = (output: string) => ({ seen: seen({ gate, kind: gate, status: 'skipped', output }), opinions: [] })
  if (!judge) return skipped('There is no agent to ask.')
  const { request, subject, watch, asRow } = looking
  if (checks.some(check => ['failed', 'broken'].includes(allowed(check, request.gates.diff.allow).status)))
    return skipped('Something else keeps the task from being done already.')
  return verifierGate({ gate, request, subject, criteria: texts, checks: checks.map(asRow) }, judge, watch?.after)
}

function runnerOf({ guard = openGuard(), isolation, places }: VerifyParts): Runner {
  return { guard, isolation, markers: commandMarkers(places.run) }
}
