import { relative } from 'node:path'
import { openGuard } from '../../base/process/guardian.ts'
import {
  type Finding,
  hasFailed,
  hasPassed,
  isBroken,
  isEmptyDiff,
  isProvenBy,
  type NewEvidence,
} from '../../domain/evidence.ts'
import type { GateCommand } from '../../domain/option-values.ts'
import type { CommandCaps } from '../command/command-caps.ts'
import { type CommandRunner, commandEnvironment, commandMarkers } from '../command/run-command.ts'
import type { HashedObjects } from '../git/check-objects.ts'
import { asideOf } from '../worktrees/worktree-note.ts'
import { acceptanceGate, judgeCriteria, parseCriteria, verifierGate } from './acceptance.ts'
import { commandGate } from './command-gate.ts'
import type { VerifiedTree } from './commit-leftovers.ts'
import { type DiffRequest, diffFindings } from './diff/diff-findings.ts'
import { earlierChecksGate } from './earlier-checks.ts'
import { PROFILES } from './gate-settings.ts'
import { regressionGate, runBaseTests, type WorkStart } from './regression.ts'
import {
  type GateCheck,
  type GateDeps,
  gateCheck,
  type Judge,
  statusByFindings,
  type VerifyRequest,
} from './request.ts'
import type { TreeWatch } from './tree-watch.ts'
import { hasCheckCommands } from './unchecked.ts'
import { findIgnoredSources } from './worktree-checks.ts'

export interface GateRunContext {
  request: VerifyRequest
  deps: GateDeps
  subject: VerifiedTree
  /** What base and work hold, hashed; without them git reads it in the repository, where agents write. */
  objects?: HashedObjects | undefined
  /** Paths that git ignores in the worktree. */
  ignored: readonly string[]
  watch: TreeWatch | undefined
  /** The result of a gate as its row will hold it. */
  asRow(check: GateCheck): NewEvidence
  /** Set if the changes themselves are not judged, because a person may have made some of them. */
  ignoresChanges?: true
}

/** Runs all gates of the profile on a tree: the cheap ones first, agents last and only where nothing failed before. */
export async function runAllGates(context: GateRunContext): Promise<GateCheck[]> {
  const { request, subject } = context
  const { gates, signal, worktree } = request
  const head = subject.commit ?? subject.tree
  const base = worktree?.base ?? request.began
  const top = worktree?.top ?? subject.folder?.top
  const diff =
    base !== undefined && head !== null && top !== undefined && !context.ignoresChanges
      ? {
          directory: top,
          base,
          head,
          objects: context.objects,
          settings: gates.diff,
          aside: worktree && asideOf(worktree.top),
          judge: context.deps.judgeDiff,
          signal,
        }
      : undefined
  const runner = openRunner(context.deps, gates.caps)
  const checks: GateCheck[] = [planGate(request), await judgeChanges(diff, context)]
  for (const name of PROFILES[gates.profile].commands) {
    signal.throwIfAborted()
    checks.push(await runCommandGate(name, context, runner))
  }
  const compared = await addRegression(checks, context, runner)
  signal.throwIfAborted()
  const earlier = await runEarlierChecks(compared, context, runner)
  const judged = await addOpinions(earlier ? [...compared, earlier] : compared, context)
  return judged.map(check => applyAllowList(check, gates.diff.allow))
}

/** Judges the changes themselves, and looks for sources that no commit has. No command runs meanwhile: it could change what git reads. */
async function judgeChanges(
  diff: DiffRequest | undefined,
  { request, ignored, objects }: GateRunContext,
): Promise<GateCheck> {
  const { worktree } = request
  const hidden = worktree ? findIgnoredSources({ ...worktree, objects }, ignored) : []
  const [check, sources] = await Promise.all([diffGate(diff), hidden])
  return withFindings(check, sources)
}

function withFindings(check: GateCheck, more: GateCheck['findings']): GateCheck {
  return more.length === 0 ? check : { ...check, status: 'failed', findings: [...check.findings, ...more] }
}

async function runCommandGate(gate: GateCommand, context: GateRunContext, runner: CommandRunner): Promise<GateCheck> {
  const run = commandRunFor(gate, context)
  if (!run)
    return gateCheck({ gate, kind: 'command', status: 'skipped', output: `No command: gates.${gate} is not set.` })
  const { worktree, directory, gates } = context.request
  const { store, clock } = context.deps
  const { tree, folder } = context.subject
  const inside = relative(worktree?.top ?? folder?.top ?? directory, directory)
  const cache = PROFILES[gates.profile].cache
  return commandGate({ ...run, tree, inside, cache }, { store, clock, runner, keeper: context.watch?.after })
}

function commandRunFor(gate: GateCommand, { request, deps }: GateRunContext) {
  const command = request.gates.commands[gate]
  if (command === undefined) return undefined
  const { directory, signal, gates } = request
  const env = commandEnvironment(deps.env, gates.env)
  return { gate, command, directory, isInPlace: !request.worktree, env, timeoutMs: gates.timeoutMs, signal }
}

/** Adds the comparison with the base, where tests were run. */
async function addRegression(
  checks: readonly GateCheck[],
  context: GateRunContext,
  runner: CommandRunner,
): Promise<GateCheck[]> {
  const { gates } = context.request
  const work = findWorkStart(context)
  const tests = checks.find(({ gate, kind }) => kind === 'command' && gate === 'test')
  const run = commandRunFor('test', context)
  if (!tests || !run || !(hasPassed(tests) || hasFailed(tests))) return [...checks]
  const wanted = { work, run, base: PROFILES[gates.profile].base }
  const base = work && (await runBaseTests({ ...wanted, work }, { ...context.deps, runner }))
  const both = regressionGate(tests, base, gates.knownFailures)
  return [...checks.map(check => (check === tests ? both.tests : check)), both.regression]
}

/** Runs what passed with the earlier version of the checks that the work changed. Work that fails anyway goes back without that. */
async function runEarlierChecks(
  checks: readonly GateCheck[],
  context: GateRunContext,
  runner: CommandRunner,
): Promise<GateCheck | undefined> {
  const { request, deps, subject } = context
  const work = findWorkStart(context)
  const head = subject.commit ?? subject.tree
  if (context.ignoresChanges) return undefined
  const isHeldUp = checks.some(check => hasFailed(applyAllowList(check, request.gates.diff.allow)))
  if (!work || head === null || isHeldUp) return undefined
  const profile = PROFILES[request.gates.profile]
  const passed = profile.commands.flatMap(gate => {
    const check = checks.find(each => each.kind === 'command' && each.gate === gate)
    const run = commandRunFor(gate, context)
    return run && check && hasPassed(check) ? [{ run, listsTests: check.tests !== null }] : []
  })
  const triesEnds = ({ known: 'never', run: 'once', anew: 'anew' } as const)[profile.base]
  return earlierChecksGate({ work, head, passed, triesEnds }, { ...deps, runner })
}

/** Where the work began; undefined without git, or where nothing was noted. */
function findWorkStart({
  request: { worktree, began, directory },
  subject: { folder },
  objects,
}: GateRunContext): WorkStart | undefined {
  if (worktree) return { ...worktree, objects }
  return folder && began !== undefined ? { top: folder.top, directory, base: began, objects } : undefined
}

/** Adds the acceptance criteria, with the opinion of a second agent where one is to be asked. */
async function addOpinions(checks: readonly GateCheck[], context: GateRunContext): Promise<GateCheck[]> {
  const { request, deps } = context
  const texts = parseCriteria(request.task.acceptance)
  const criteria = judgeCriteria(texts, checks, [])
  const all = [...checks]
  const isProven = isProvenBy(checks) && criteria.every(({ status }) => status !== 'unproven')
  const isWanted = wantsVerifier(request, { isProven, isEmpty: isEmptyDiff(checks) })
  const verifier = isWanted ? await askVerifier('verifier', deps.judge, { context, checks, texts }) : undefined
  if (verifier) all.push(verifier.check)
  const second = await askVerifier('second-opinion', deps.secondOpinion, { context, checks: all, texts })
  if (second && deps.secondOpinion) all.push(second.check)
  return [...all, acceptanceGate(judgeCriteria(texts, checks, verifier?.opinions ?? []))]
}

/**
 * A judging agent costs as much as a working one. Where the settings do not demand it, it judges what commands leave open: written
 * criteria, work that changed nothing, and all work of a project that has no checks.
 */
function wantsVerifier(
  { gates, task, withheld }: VerifyRequest,
  { isProven, isEmpty }: { isProven: boolean; isEmpty: boolean },
): boolean {
  if (gates.verifier !== 'auto') return gates.verifier === 'on'
  const { verifier } = PROFILES[gates.profile]
  if (verifier !== 'unproven') return verifier === 'always'
  const isOpen = gates.unproven === 'ask' && (isEmpty || !hasCheckCommands(gates))
  return !isProven && !withheld && (task.acceptance.trim() !== '' || isOpen)
}

interface VerifierQuestion {
  context: GateRunContext
  checks: readonly GateCheck[]
  texts: string[]
}

/** Work that another gate holds back is returned without an agent's opinion, which costs money. */
async function askVerifier(
  gate: 'verifier' | 'second-opinion',
  judge: Judge | undefined,
  { context, checks, texts }: VerifierQuestion,
) {
  const skipped = (output: string) => ({
    check: gateCheck({ gate, kind: gate, status: 'skipped', output }),
    opinions: [],
  })
  if (!judge) return skipped('There is no agent to ask.')
  const { request, subject, objects, watch, asRow } = context
  const allowed = checks.map(check => applyAllowList(check, request.gates.diff.allow))
  if (allowed.some(check => hasFailed(check) || isBroken(check)))
    return skipped('Another gate blocks the task already.')
  return verifierGate(
    { gate, request, subject, objects, criteria: texts, checks: checks.map(asRow) },
    judge,
    watch?.after,
  )
}

function openRunner({ guard = openGuard(), isolation, paths, sandbox }: GateDeps, caps: CommandCaps): CommandRunner {
  return { guard, isolation, markers: commandMarkers(paths.run), sandbox, caps }
}

/** Checks that the agent's own plan has no open item, and that all parts of the task are done. */
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

/** Checks the changes themselves; skipped without a request, where the start of the work is not known. */
async function diffGate(request: DiffRequest | undefined): Promise<GateCheck> {
  if (!request)
    return gateCheck({
      gate: 'diff',
      kind: 'diff',
      status: 'skipped',
      output: 'It is not known where the work began.',
    })
  const began = performance.now()
  const findings = await diffFindings(request)
  const duration_ms = Math.round(performance.now() - began)
  return gateCheck({ gate: 'diff', kind: 'diff', status: statusByFindings(findings), findings, duration_ms })
}

/** Findings that a person may allow with `gates.allow`, besides those of the diff. A failure cannot be allowed by name. */
const CAN_BE_ALLOWED =
  /^(diff\.ignored|git\.shared|git\.target|gate\.changed_files|gate\.moved_branch|regression\.gone|regression\.skipped|checks\.changed|checks\.unknown)$/

/** Turns the findings that a person allows into notes; a gate that only those blocked has passed. */
export function applyAllowList(check: GateCheck, allow: readonly string[]): GateCheck {
  const isAllowed = ({ code, weight }: Finding) =>
    weight !== 'note' && CAN_BE_ALLOWED.test(code) && allow.includes(code)
  if (!check.findings.some(isAllowed)) return check
  const findings = check.findings.map(finding =>
    isAllowed(finding) ? { ...finding, weight: 'note' as const } : finding,
  )
  const canPass =
    check.status === 'failed' || check.status === 'review' || (check.status === 'broken' && check.gate === 'repository')
  const status = canPass ? statusByFindings(findings, check.status) : check.status
  return { ...check, findings, status }
}
