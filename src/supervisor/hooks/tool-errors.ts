import type { HookEventOf } from '../../domain/hooks.ts'
import type { GateProfile } from '../../domain/option-values.ts'
import type { Risk } from '../../domain/session.ts'
import { readToolUse } from '../../policy/classify/tool-use.ts'
import { findGitOperation } from '../../workspace/git/checkout-state.ts'
import { git } from '../../workspace/git/git.ts'
import { targetOf } from '../session/tool-call.ts'
import { findKnownFailure } from './known-failures.ts'
import type { AnswerEvent, HookContext } from './router.ts'
import { saysFirst } from './session-notes.ts'

export interface ToolErrorDeps {
  /** The risk of the call that failed, as the policy judges it. */
  risk(event: FailedEvent, context: HookContext): Promise<Risk>
}

type FailedEvent = HookEventOf<'tool_after'>

/** What is known about a failed call. */
export interface ToolErrorReport {
  schema_version: 1
  /** `failed`: a cause is known. `unclear`: none is, and something else has to be looked at. */
  status: 'failed' | 'unclear'
  profile: GateProfile
  checks: { name: string; status: 'passed' | 'failed' }[]
  issues: { code: string; text: string }[]
  next_steps: string[]
}

/**
 * Tells an agent what is known about a call that failed: usual causes by rules, and after a call that may have changed something
 * also the state of the repository. It only reads. It speaks once about the same failure and is silent where it knows nothing.
 */
export function explainErrors(deps: ToolErrorDeps): AnswerEvent<'tool_after'> {
  return async (event, context) => {
    if (event.ok) return undefined
    const report = await examine(event, context, deps)
    if (report.issues.length === 0) return undefined
    const what = `failure ${event.tool} ${targetOf(event.input, context.project)} ${report.issues.map(({ code }) => code)}`
    if (!(await saysFirst(context.paths, event, { what }))) return undefined
    return { context: `pcc looked at the call that failed:\n${JSON.stringify(report)}`.slice(0, LONGEST) }
  }
}

const LONGEST = 3_000

async function examine(event: FailedEvent, context: HookContext, deps: ToolErrorDeps): Promise<ToolErrorReport> {
  const profile = await chooseProfile(event, context, deps)
  const known = findKnownFailure(event)
  const report: ToolErrorReport = {
    schema_version: 1,
    status: known ? 'failed' : 'unclear',
    profile,
    checks: [{ name: 'known failures', status: known ? 'failed' : 'passed' }],
    issues: known ? [{ code: known.code, text: known.issue }] : [],
    next_steps: known ? [known.next] : [],
  }
  if (profile !== 'quick') await addRepository(report, context)
  if (profile === 'deep') addHalfDone(report)
  return report
}

/** A call that only reads leaves nothing behind. For the others the profile follows their risk. */
async function chooseProfile(event: FailedEvent, context: HookContext, { risk }: ToolErrorDeps): Promise<GateProfile> {
  const { does } = readToolUse(event.tool, event.input)
  if (does === 'read' || does === 'search' || does === 'fetch' || does === 'look-up' || does === 'nothing')
    return 'quick'
  return ({ LOW: 'quick', MEDIUM: 'standard', HIGH: 'deep' } as const)[await risk(event, context)]
}

/** An operation of git that the call left unfinished. */
async function addRepository(report: ToolErrorReport, { project, signal }: HookContext): Promise<void> {
  const operation = await findGitOperation(project)
  const conflicts =
    operation && (await git(project, ['diff', '--name-only', '--diff-filter=U', '-z', '--'], { signal }))
  const files = conflicts?.stdout.split('\0').filter(Boolean).slice(0, MOST_FILES) ?? []
  report.checks.push({ name: 'repository', status: operation ? 'failed' : 'passed' })
  if (!operation) return
  const where = files.length === 0 ? '' : ` Files in conflict: ${files.join(', ')}.`
  report.issues.push({ code: 'git.unfinished', text: `A ${operation.kind} of git is not finished.${where}` })
  report.next_steps.push(`Finish the ${operation.kind}, or tell the person why it cannot be finished.`)
}

const MOST_FILES = 10

/** A dangerous call that failed may have done a part of its work. */
function addHalfDone({ issues, next_steps }: ToolErrorReport): void {
  const text = 'The call is dangerous, and may have done a part of its work before it failed.'
  issues.push({ code: 'call.half_done', text })
  next_steps.push('Look at what it changed (git status, or what it was aimed at) before you repeat it.')
}
