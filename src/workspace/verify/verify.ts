import { crashPoint } from '../../base/crash-point.ts'
import {
  type Finding,
  hasFailed,
  isBroken,
  isProvenBy,
  type NewEvidence,
  type VerificationResult,
} from '../../domain/evidence.ts'
import { type HashedObjects, hashObjects } from '../git/check-objects.ts'
import { nameVerifiedTree, type VerifiedTree } from './commit-leftovers.ts'
import { type GateCheck, gateCheck, type VerifyDeps, type VerifyRequest } from './request.ts'
import { applyAllowList, runAllGates } from './run-gates.ts'
import { restoreAfterInterruption, watchTree } from './tree-watch.ts'
import { checkSharedRepository, cleanWorktree, endGates, listIgnored, openWorktree } from './worktree-checks.ts'

/**
 * Finds out whether a task is done: commits what its agent left, runs the gates of the profile on exactly that, and records their
 * results. An abort is thrown as the signal's reason and leaves no rows: nothing was found out.
 */
export async function verify(request: VerifyRequest, deps: VerifyDeps): Promise<VerificationResult> {
  request.signal.throwIfAborted()
  if (request.worktree) await restoreAfterInterruption(request.worktree)
  const renewTimes = request.worktree && (await openWorktree(request.worktree))
  const named = await nameVerifiedTree(request)
  crashPoint('verify.after-commit')
  if (!named.ok) {
    const { status, finding } = named
    return recordChecks([gateCheck({ gate: 'tree', kind: 'diff', status, findings: [finding] })], NO_TREE, {
      request,
      deps,
    })
  }
  await renewTimes?.()
  const { subject } = named
  const [ignored, shared, { objects, forged }] = await Promise.all([
    request.worktree ? listIgnored(request.worktree.top) : [],
    checkRepository(subject, request),
    hashEnds(subject, request, deps),
  ])
  if (shared && isBroken(shared)) return recordChecks([shared], subject, { request, deps })
  if (forged) return recordChecks([forged], subject, { request, deps })
  const { checks: cleaning, aside } = await cleanWorktree(request, {
    ...deps,
    ...{ head: subject.commit, folder: subject.folder, objects, ignored },
  })
  const began = Date.now()
  const before = [...(shared ? [shared] : []), ...cleaning]
  let isPassed = false
  try {
    if (cleaning.some(isBroken)) return await recordChecks(cleaning, subject, { request, deps })
    const watch = await watchTree(subject, request.worktree)
    const asRow = (check: GateCheck) => evidenceRow(check, subject, { request, deps })
    const store = cleaning.some(({ findings }) => findings.some(isForReview)) ? unkept(deps.store) : deps.store
    const checks = await runAllGates({ request, deps: { ...deps, store }, subject, objects, ignored, watch, asRow })
    await watch?.end()
    const result = await recordChecks([...before, ...checks], subject, { request, deps })
    isPassed = result.status === 'passed'
    return result
  } finally {
    if (request.worktree) await endGates(request.worktree, { aside, began, isPassed })
  }
}

function isForReview({ weight }: Finding): boolean {
  return weight === 'review'
}

/** Results of commands that ran with dependencies which a person has yet to accept count for this verification only. */
function unkept({ gateResults }: VerifyDeps['store']): Pick<VerifyDeps['store'], 'gateResults'> {
  return { gateResults: { ...gateResults, put: () => Promise.resolve() } }
}

/** Checks for changes that a person has to look at before any result can be trusted, unless they allow them by name. */
async function checkRepository(
  { folder }: VerifiedTree,
  { worktree, gates }: VerifyRequest,
): Promise<GateCheck | undefined> {
  const findings = worktree && folder ? await checkSharedRepository(worktree, folder) : []
  if (findings.length === 0) return undefined
  return applyAllowList(gateCheck({ gate: 'repository', kind: 'diff', status: 'broken', findings }), gates.diff.allow)
}

/** Sets aside what the base and the work hold, for all that compares them; or finds that some of it was exchanged. */
async function hashEnds(
  { commit, tree, folder }: VerifiedTree,
  { worktree, began }: VerifyRequest,
  { paths }: VerifyDeps,
): Promise<{ objects?: HashedObjects; forged?: GateCheck }> {
  const [base, head, top] = [worktree?.base ?? began, commit ?? tree, worktree?.top ?? folder?.top]
  if (base === undefined || head === null || top === undefined) return {}
  const hashed = await hashObjects(top, [base, head], paths.run)
  if ('objects' in hashed) return hashed
  const text = `Objects of ${top} are not what their ids say, or cannot be read (${hashed.problem}). Look with: git fsck`
  const finding: Finding = { code: 'git.forged', weight: 'block', text }
  return { forged: gateCheck({ gate: 'repository', kind: 'diff', status: 'broken', findings: [finding] }) }
}

const NO_TREE: VerifiedTree = { commit: null, tree: null, folder: undefined }

interface VerifyContext {
  request: VerifyRequest
  deps: VerifyDeps
}

function evidenceRow(
  check: GateCheck,
  { tree }: VerifiedTree,
  { request: { task, round }, deps }: VerifyContext,
): NewEvidence {
  return { ...check, task_id: task.id, attempt: task.attempt, round, tree, created_at: deps.clock.now() }
}

async function recordChecks(
  results: readonly GateCheck[],
  subject: VerifiedTree,
  context: VerifyContext,
): Promise<VerificationResult> {
  const { request, deps } = context
  const checks = results.map(check => evidenceRow(check, subject, context))
  const round = { task_id: request.task.id, attempt: request.task.attempt, round: request.round }
  crashPoint('verify.before-row')
  await deps.store.transaction(tx => deps.store.evidence.put(round, checks, tx))
  const all = resultOf(checks, subject)
  // Other commands say nothing about checks that a person has yet to agree to.
  const result = { ...all, isProven: all.isProven && request.withheld !== true }
  deps.log.info({ ...round, status: result.status, gates: checks.map(gateAndStatus) }, 'a task was verified')
  return result
}

/** The result of a verification from the results of its gates. */
export function resultOf(
  checks: NewEvidence[],
  { commit, tree }: Pick<VerifiedTree, 'commit' | 'tree'>,
): VerificationResult {
  return {
    status: statusOf(checks),
    isProven: isProvenBy(checks),
    commit,
    tree,
    checks,
    findings: checks.flatMap(({ findings }) => findings),
    next_steps: nextSteps(checks),
  }
}

function statusOf(checks: readonly NewEvidence[]): VerificationResult['status'] {
  if (checks.some(hasFailed)) return 'failed'
  return checks.some(isBroken) ? 'broken' : 'passed'
}

function gateAndStatus({ gate, status }: NewEvidence): string {
  return `${gate} ${status}`
}

/** Limits on what goes back to the agent, since a model reads it. */
const MOST_STEPS = 30
const MOST_OUTPUT = 4_000

/** What the agent has to do next, gate by gate, in words for it. Empty where nothing blocks. */
function nextSteps(checks: readonly NewEvidence[]): string[] {
  const all = [...new Set(checks.flatMap(stepsForCheck))]
  if (all.length <= MOST_STEPS) return all
  return [...all.slice(0, MOST_STEPS), `And ${all.length - MOST_STEPS} more of the same kind.`]
}

function stepsForCheck({ findings, status, command, output, kind }: NewEvidence): string[] {
  const steps = findings.filter(({ weight }) => weight === 'block').map(describeFinding)
  if (kind !== 'command' || status === 'passed' || output.trim() === '' || steps.length === 0) return steps
  const shown = output.length > MOST_OUTPUT ? `[…]\n${output.slice(-MOST_OUTPUT)}` : output
  const [first = '', ...rest] = steps
  return [`${first} Fix the cause until \`${command}\` passes. It printed:\n${shown.trimEnd()}`, ...rest]
}

function describeFinding({ text, file, line }: Finding): string {
  if (file === undefined || text.includes(file)) return text
  return `${text} (${file}${line === undefined ? '' : `:${line}`})`
}
