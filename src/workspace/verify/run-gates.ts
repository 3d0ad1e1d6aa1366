import { relative } from 'node:path'
import { openGuard } from '../../base/process/guardian.ts'
import { type Finding, isProvenBy, type NewEvidence } from '../../domain/evidence.ts'
import { type CommandRunner, commandEnvironment, commandMarkers } from '../command/run-command.ts'
import { acceptanceGate, judgeCriteria, parseCriteria, verifierGate } from './acceptance.ts'
import { commandGate } from './command-gate.ts'
import type { VerifiedTree } from './commit-leftovers.ts'
import { type DiffRequest, diffFindings } from './diff/diff-findings.ts'
import { type GateCommand, PROFILES } from './gate-settings.ts'
import { regressionGate, runBaseTests, type WorkStart } from './regression.ts'
import {
  type GateCheck,
  gateCheck,
  type Judge,
  statusByFindings,
  type VerifyDeps,
  type VerifyRequest,
} from './request.ts'
import type { TreeWatch } from './tree-watch.ts'
import { findIgnoredSources } from './worktree-checks.ts'

export interface GateRunContext {
  request: VerifyRequest
  deps: VerifyDeps
  subject: VerifiedTree
  /** What git ignores there. */
  ignored: readonly string[]
  watch: TreeWatch | undefined
  /** What a gate saw, as it will stand in its row. */
  asRow(seen: GateCheck): NewEvidence
}

/** Lets all gates of the profile look at a tree: what costs nothing first, agents last and only where nothing failed before. */
export async function runAllGates(looking: GateRunContext): Promise<GateCheck[]> {
  const { request, subject } = looking
  const { gates, signal, place } = request
  const head = subject.commit ?? subject.tree
  const base = place?.base ?? request.began
  const top = place?.top ?? subject.folder?.top
  const diff =
    base !== undefined && head !== null && top !== undefined
      ? { directory: top, base, head, settings: gates.diff, judge: looking.deps.judgeDiff, signal }
      : undefined
  const ignored = place ? await findIgnoredSources(place.top, place.base, looking.ignored) : []
  const checks: GateCheck[] = [planGate(request), withFindings(await diffGate(diff), ignored)]
  const runner = runnerOf(looking.deps)
  for (const name of PROFILES[gates.profile].commands) {
    signal.throwIfAborted()
    checks.push(await runCommandGate(name, looking, runner))
  }
  const compared = await withBase(checks, looking, runner)
  signal.throwIfAborted()
  const judged = await withOpinions(compared, looking)
  return judged.map(check => applyAllowList(check, gates.diff.allow))
}

function withFindings(check: GateCheck, more: GateCheck['findings']): GateCheck {
  return more.length === 0 ? check : { ...check, status: 'failed', findings: [...check.findings, ...more] }
}

async function runCommandGate(gate: GateCommand, looking: GateRunContext, runner: CommandRunner): Promise<GateCheck> {
  const run = commandRunFor(gate, looking)
  if (!run)
    return gateCheck({ gate, kind: 'command', status: 'skipped', output: `No command: gates.${gate} is not set.` })
  const { place, directory, gates } = looking.request
  const { store, clock } = looking.deps
  const { tree, folder } = looking.subject
  const inside = relative(place?.top ?? folder?.top ?? directory, directory)
  const cache = PROFILES[gates.profile].cache
  return commandGate({ ...run, tree, inside, cache }, { store, clock, runner, keeper: looking.watch?.after })
}

function commandRunFor(gate: GateCommand, { request, deps }: GateRunContext) {
  const command = request.gates.commands[gate]
  if (command === undefined) return undefined
  const { directory, signal, gates } = request
  const env = commandEnvironment(deps.env, gates.env)
  return { gate, command, directory, env, timeoutMs: gates.timeoutMs, signal }
}

/** Puts the comparison with the base beside the tests, where there are any. */
async function withBase(
  checks: readonly GateCheck[],
  looking: GateRunContext,
  runner: CommandRunner,
): Promise<GateCheck[]> {
  const { gates } = looking.request
  const work = workStart(looking)
  const tests = checks.find(({ gate, kind }) => kind === 'command' && gate === 'test')
  const run = commandRunFor('test', looking)
  if (!tests || !run || !['passed', 'failed', 'flaky'].includes(tests.status)) return [...checks]
  // Green as a whole, with nothing to compare one by one: the base would tell nothing.
  const isAll = tests.tests === null && tests.status === 'passed'
  const wanted = { run, base: isAll ? 'known' : PROFILES[gates.profile].base } as const
  const base = work && (await runBaseTests({ work, ...wanted }, { ...looking.deps, runner }))
  const both = regressionGate(tests, base, gates.knownFailures)
  return [...checks.map(check => (check === tests ? both.tests : check)), both.regression]
}

/** From where the work began; nobody knows where there is no git, and nothing was noted. */
function workStart({
  request: { place, began, directory },
  subject: { folder },
}: GateRunContext): WorkStart | undefined {
  if (place) return place
  return folder && began !== undefined ? { top: folder.top, directory, base: began } : undefined
}

/** The acceptance criteria, with what a second agent says of them where one is to be asked. */
async function withOpinions(checks: readonly GateCheck[], looking: GateRunContext): Promise<GateCheck[]> {
  const { request, deps } = looking
  const texts = parseCriteria(request.task.acceptance)
  const known = judgeCriteria(texts, checks, [])
  const rest = [...checks]
  const isWanted = wantsVerifier(request, isProvenBy(checks) && known.every(({ status }) => status !== 'unproven'))
  const verifier = isWanted ? await askVerifier('verifier', deps.judge, { looking, checks, texts }) : undefined
  if (verifier) rest.push(verifier.seen)
  const second = await askVerifier('second-opinion', deps.secondOpinion, { looking, checks: rest, texts })
  if (second && deps.secondOpinion) rest.push(second.seen)
  return [...rest, acceptanceGate(judgeCriteria(texts, checks, verifier?.opinions ?? []))]
}

function wantsVerifier({ gates }: VerifyRequest, isProven: boolean): boolean {
  if (gates.verifier !== 'auto') return gates.verifier === 'on'
  const { verifier } = PROFILES[gates.profile]
  return verifier === 'always' || (verifier === 'unproven' && !isProven)
}

interface VerifierQuestion {
  looking: GateRunContext
  checks: readonly GateCheck[]
  texts: string[]
}

/** Work that something else keeps from being done goes back without an agent's opinion, which costs. */
async function askVerifier(
  gate: 'verifier' | 'second-opinion',
  judge: Judge | undefined,
  { looking, checks, texts }: VerifierQuestion,
) {
  const skipped = (output: string) => ({
    seen: gateCheck({ gate, kind: gate, status: 'skipped', output }),
    opinions: [],
  })
  if (!judge) return skipped('There is no agent to ask.')
  const { request, subject, watch, asRow } = looking
  if (checks.some(check => ['failed', 'broken'].includes(applyAllowList(check, request.gates.diff.allow).status)))
    return skipped('Something else keeps the task from being done already.')
  return verifierGate({ gate, request, subject, criteria: texts, checks: checks.map(asRow) }, judge, watch?.after)
}

function runnerOf({ guard = openGuard(), isolation, paths }: VerifyDeps): CommandRunner {
  return { guard, isolation, markers: commandMarkers(paths.run) }
}

/** Whether the agent left something of its own plan open, or a part of the task is not done. */
function planGate({ plan, openChildren }: Pick<VerifyRequest, 'plan' | 'openChildren'>): GateCheck {
  const open = plan.filter(({ state }) => state !== 'done')
  const findings: Finding[] = open.map(({ text, state }) => ({
    code: 'plan.open',
    weight: 'block',
    text: `Your plan still has an item that is ${state}: ${text}`,
  }))
  if (openChildren > 0) {
    const parts = openChildren === 1 ? 'One part of the task is' : `${openChildren} parts of the task are`
    findings.push({ code: 'plan.open_child', weight: 'block', text: `${parts} not done yet.` })
  }
  const isEmpty = plan.length === 0 && openChildren === 0
  return gateCheck({ gate: 'plan', kind: 'plan', status: isEmpty ? 'skipped' : statusByFindings(findings), findings })
}

/** What the changes themselves tell; undefined where nobody knows what they began with. */
async function diffGate(request: DiffRequest | undefined): Promise<GateCheck> {
  if (!request)
    return gateCheck({
      gate: 'diff',
      kind: 'diff',
      status: 'skipped',
      output: 'Nobody knows what the work began with.',
    })
  const began = performance.now()
  const findings = await diffFindings(request)
  const duration_ms = Math.round(performance.now() - began)
  return gateCheck({ gate: 'diff', kind: 'diff', status: statusByFindings(findings), findings, duration_ms })
}

/** Findings that a person may let pass by `gates.allow`, beside those of the diff. What fails cannot be let pass by a name. */
const CAN_BE_ALLOWED =
  /^(diff\.ignored|git\.shared|git\.target|gate\.changed_files|gate\.moved_branch|regression\.gone|regression\.skipped)$/

/** The same with what a person lets pass turned into notes; a gate that only that stood in the way of has passed. */
export function applyAllowList(check: GateCheck, allow: readonly string[]): GateCheck {
  const isLet = ({ code, weight }: Finding) => weight === 'block' && CAN_BE_ALLOWED.test(code) && allow.includes(code)
  if (!check.findings.some(isLet)) return check
  const findings = check.findings.map(finding => (isLet(finding) ? { ...finding, weight: 'note' as const } : finding))
  const isHeld = check.status === 'failed' || (check.status === 'broken' && check.gate === 'repository')
  const status = isHeld ? statusByFindings(findings, check.status) : check.status
  return { ...check, findings, status }
}
