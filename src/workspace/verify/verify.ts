import { crashPoint } from '../../base/crash-point.ts'
import { openGuard } from '../../base/process/guardian.ts'
import type { Finding, NewEvidence, VerificationResult } from '../../domain/workspace/evidence.ts'
import { commandEnvironment } from './command/environment.ts'
import { commandMarkers } from './command/markers.ts'
import { commandGate } from './gates/command-gate.ts'
import { planGate } from './gates/plan-gate.ts'
import type { Seen } from './gates/seen.ts'
import { nextSteps } from './next-steps.ts'
import { PROFILES } from './profiles.ts'
import type { VerifyParts, VerifyRequest } from './request.ts'
import type { Runner } from './run-command.ts'
import { nameSubject, type Subject } from './tree/subject.ts'

/**
 * Finds out whether a task is done: names what its agent left, runs the gates of the profile on exactly that, and writes down
 * what they saw. An abort is thrown as the signal's reason and leaves no rows: nothing was found out.
 */
export async function verify(request: VerifyRequest, parts: VerifyParts): Promise<VerificationResult> {
  const { signal } = request
  const named = await nameSubject(request)
  crashPoint('verify.after-commit')
  if (!named.ok) return refused(named, request, parts)
  const checks: Seen[] = [planGate(request)]
  for (const name of PROFILES[request.gates.profile].commands) {
    const command = request.gates.commands[name]
    if (command === undefined) continue
    signal.throwIfAborted()
    const { directory, gates } = request
    const env = commandEnvironment(parts.env, gates.env)
    const run = { gate: name, command, directory, env, timeoutMs: gates.timeoutMs, signal }
    checks.push(await commandGate(run, runnerOf(parts)))
  }
  signal.throwIfAborted()
  return written({ checks, subject: named.subject, findings: [] }, request, parts)
}

function runnerOf({ guard = openGuard(), isolation, places }: VerifyParts): Runner {
  return { guard, isolation, markers: commandMarkers(places.run) }
}

interface Looked {
  checks: Seen[]
  subject: Subject
  findings: Finding[]
}

async function written(looked: Looked, request: VerifyRequest, parts: VerifyParts): Promise<VerificationResult> {
  const { task, round } = request
  const of = { task_id: task.id, attempt: task.attempt, round }
  const { commit, tree } = looked.subject
  const created_at = parts.clock.now()
  const checks: NewEvidence[] = looked.checks.map(check => ({ ...check, ...of, tree, created_at }))
  crashPoint('verify.before-row')
  await parts.store.transaction(tx => parts.store.evidence.put(of, checks, tx))
  return {
    status: statusOf(checks),
    isProven: checks.some(({ kind, status }) => kind === 'command' && (status === 'passed' || status === 'flaky')),
    commit,
    tree,
    checks,
    findings: [...looked.findings, ...checks.flatMap(({ findings }) => findings)],
    next_steps: nextSteps(checks, looked.findings),
  }
}

function statusOf(checks: readonly NewEvidence[]): VerificationResult['status'] {
  if (checks.some(({ status }) => status === 'failed')) return 'failed'
  return checks.some(({ status }) => status === 'broken') ? 'broken' : 'passed'
}

async function refused(
  { status, finding }: { status: 'failed' | 'broken'; finding: Finding },
  request: VerifyRequest,
  parts: VerifyParts,
): Promise<VerificationResult> {
  const check: Seen = {
    ...planGate({ plan: [], openChildren: 0 }),
    gate: 'tree',
    kind: 'diff',
    status,
    findings: [finding],
  }
  const nothing = { commit: null, tree: null, folder: undefined }
  return written({ checks: [check], subject: nothing, findings: [] }, request, parts)
}
