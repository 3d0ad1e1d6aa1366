import { crashPoint } from '../../base/crash-point.ts'
import type { NewEvidence, VerificationResult } from '../../domain/workspace/evidence.ts'
import { isProvenBy } from '../../domain/workspace/proven.ts'
import { allowed } from './gates/allowed.ts'
import { type Seen, seen } from './gates/seen.ts'
import { lookAtTree } from './look.ts'
import { nextSteps } from './next-steps.ts'
import type { VerifyParts, VerifyRequest } from './request.ts'
import { cleanGround } from './tree/clean-ground.ts'
import { ignoredIn } from './tree/ignored-sources.ts'
import { sharedGround } from './tree/shared-ground.ts'
import { nameSubject, type Subject } from './tree/subject.ts'
import { afterDeath, openWatch } from './tree/watch.ts'

/**
 * Finds out whether a task is done: names what its agent left, lets the gates of the profile look at exactly that, and writes
 * down what they saw. An abort is thrown as the signal's reason and leaves no rows: nothing was found out.
 */
export async function verify(request: VerifyRequest, parts: VerifyParts): Promise<VerificationResult> {
  request.signal.throwIfAborted()
  if (request.place) await afterDeath(request.place)
  const named = await nameSubject(request)
  crashPoint('verify.after-commit')
  if (!named.ok) {
    const { status, finding } = named
    return written([seen({ gate: 'tree', kind: 'diff', status, findings: [finding] })], NOTHING, { request, parts })
  }
  const { subject } = named
  const ignored = request.place ? await ignoredIn(request.place.top) : []
  const moved = await sharedChecks(subject, request)
  if (moved?.status === 'broken') return written([moved], subject, { request, parts })
  const ground = await cleanGround(request, { head: subject.commit, env: parts.env, ignored })
  if (ground.some(({ status }) => status === 'broken')) return written(ground, subject, { request, parts })
  const watch = await openWatch(subject, request.place)
  const asRow = (check: Seen) => rowOf(check, subject, { request, parts })
  const checks = await lookAtTree({ request, parts, subject, ignored, watch, asRow })
  await watch?.end()
  return written([...(moved ? [moved] : []), ...ground, ...checks], subject, { request, parts })
}

/** What a person has to look at before anything can be believed, unless they let it pass by its name. */
async function sharedChecks({ folder }: Subject, { place, gates }: VerifyRequest): Promise<Seen | undefined> {
  const findings = place && folder ? await sharedGround(place, folder) : []
  if (findings.length === 0) return undefined
  return allowed(seen({ gate: 'repository', kind: 'diff', status: 'broken', findings }), gates.diff.allow)
}

const NOTHING: Subject = { commit: null, tree: null, folder: undefined }

interface Of {
  request: VerifyRequest
  parts: VerifyParts
}

function rowOf(check: Seen, { tree }: Subject, { request: { task, round }, parts }: Of): NewEvidence {
  return { ...check, task_id: task.id, attempt: task.attempt, round, tree, created_at: parts.clock.now() }
}

async function written(seen: readonly Seen[], subject: Subject, of: Of): Promise<VerificationResult> {
  const { request, parts } = of
  const checks = seen.map(check => rowOf(check, subject, of))
  const round = { task_id: request.task.id, attempt: request.task.attempt, round: request.round }
  crashPoint('verify.before-row')
  await parts.store.transaction(tx => parts.store.evidence.put(round, checks, tx))
  const result = resultOf(checks, subject)
  parts.log.info({ ...round, status: result.status, gates: checks.map(gateAndStatus) }, 'a task was verified')
  return result
}

function resultOf(checks: NewEvidence[], { commit, tree }: Subject): VerificationResult {
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
  if (checks.some(({ status }) => status === 'failed')) return 'failed'
  return checks.some(({ status }) => status === 'broken') ? 'broken' : 'passed'
}

function gateAndStatus({ gate, status }: NewEvidence): string {
  return `${gate} ${status}`
}
