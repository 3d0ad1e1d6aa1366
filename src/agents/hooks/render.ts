import { unreachable } from '../../base/errors.ts'
import type { HookAnswer, HookEvent, HookManifest, HookOutput } from '../../domain/hooks.ts'
import { LOOK, refuseHook } from './refuse.ts'

/** What can be said to a vendor, after its manifest was applied. */
interface Said {
  decision: HookAnswer['decision']
  reason: string
  input?: Record<string, unknown> | undefined
  context?: string | undefined
  notice?: string | undefined
}

const SILENCE: HookOutput = { stdout: '', stderr: '', exit: 0 }
/** Codex runs a call whose refusal has no reason. */
const NO_REASON = 'pcc does not allow this.'
/** Whoever wrote it may mean something else by the same words. */
const OTHER_VERSION = `The answer of pcc has a version that its hook does not know. ${LOOK}`
const NO_QUESTION = 'pcc asks a person about this.'

/** The answer in the vendor's words. What the vendor has no words for degrades by the rules of its manifest and by nothing else. */
export function renderAnswer(manifest: HookManifest, event: HookEvent, answer: HookAnswer): HookOutput {
  const { from, to } = manifest.schemas
  if (answer.schema_version < from || answer.schema_version > to)
    return refuseHook(manifest.vendor, event.native, OTHER_VERSION)
  const said = degradeAnswer(manifest, event, answer)
  switch (manifest.vendor) {
    case 'claude':
    case 'codex':
      return sayToClaude(manifest, event, said)
    case 'gemini':
      return sayToGemini(event, said)
    case 'copilot':
      return sayToCopilot(event, said)
    default:
      return unreachable(manifest.vendor)
  }
}

/** Applies the manifest. The result is never laxer than the answer: what cannot be said becomes silence or a refusal, never an `allow`. */
function degradeAnswer(manifest: HookManifest, event: HookEvent, answer: HookAnswer): Said {
  const context = manifest.context.includes(event.kind) ? answer.context : undefined
  const notice = manifest.notices ? answer.notice : undefined
  const reason = answer.reason?.trim() || (answer.decision === 'ask' ? NO_QUESTION : NO_REASON)
  const plain: Said = { decision: 'none', reason, context, notice }
  if (event.kind === 'stop')
    return answer.decision === 'continue' && manifest.stops ? { ...plain, decision: 'continue' } : plain
  if (event.kind !== 'tool_before' && event.kind !== 'permission') return plain
  if (answer.decision === 'none') return plain
  // A stop can be continued; a call cannot.
  if (answer.decision === 'continue') return { ...plain, decision: 'deny' }
  if (answer.input) return answerQuestion(manifest, event, { ...plain, decision: answer.decision, input: answer.input })
  const rule = manifest.decisions[event.kind][answer.decision]
  if (rule === 'deny') return { ...plain, decision: 'deny', reason: `${reason} ${cannotAsk(manifest)}` }
  return rule === 'kept' ? { ...plain, decision: answer.decision } : plain
}

function cannotAsk({ name }: HookManifest): string {
  return `A person must decide this, and no hook can make ${name} ask one, so it is refused. Go on without it, or tell the person.`
}

/** An input is replaced only to answer a question: any other replaced input would be a call that nobody judged. */
function answerQuestion(manifest: HookManifest, event: HookEvent, said: Said): Said {
  const isQuestion = 'tool' in event && event.tool === 'AskUserQuestion'
  if (!isQuestion || said.decision !== 'allow' || manifest.questions === false)
    return { ...said, decision: 'deny', input: undefined }
  if (manifest.questions === 'input') return said
  const answers = Object.entries((said.input?.['answers'] ?? {}) as Record<string, unknown>)
  const lines = answers.map(([question, answer]) => `${question} ${[answer].flat().join(', ')}`)
  const reason = ['The person has answered already. Do not ask again.', ...lines].join('\n')
  return { ...said, decision: 'deny', reason, input: undefined }
}

/** Claude Code and Codex. Codex accepts no field that it does not know, so nothing is said that was not asked for. */
function sayToClaude({ vendor }: HookManifest, event: HookEvent, said: Said): HookOutput {
  const { decision, reason, input, context, notice } = said
  const specific = { hookEventName: event.native }
  // An exit code cannot be misread by another version, which a field can.
  if (vendor === 'codex' && decision === 'deny') return { stdout: '', stderr: reason, exit: 2 }
  if (event.kind === 'permission')
    return sayJson({ notice, hookSpecificOutput: decision !== 'none' && { ...specific, decision: behave(said) } })
  if (event.kind === 'stop') return sayJson({ notice, ...(decision === 'continue' && { decision: 'block', reason }) })
  const permission = event.kind === 'tool_before' && decision !== 'none' && { permissionDecision: decision }
  return sayJson({
    notice,
    hookSpecificOutput: (permission || context !== undefined) && {
      ...specific,
      ...permission,
      ...(permission && decision !== 'allow' && { permissionDecisionReason: reason }),
      ...(permission && input && { updatedInput: input }),
      ...(context !== undefined && { additionalContext: context }),
    },
  })
}

function behave({ decision, reason, input }: Said): Record<string, unknown> {
  return decision === 'allow'
    ? { behavior: 'allow', ...(input && { updatedInput: input }) }
    : { behavior: 'deny', message: reason }
}

/** Gemini CLI shows the notice, not the reason, in the dialog that `ask` opens. */
function sayToGemini(event: HookEvent, { decision, reason, context, notice }: Said): HookOutput {
  const isRefused = decision === 'deny' || decision === 'continue'
  return sayJson({
    notice: decision === 'ask' ? [reason, notice].filter(Boolean).join('\n') : notice,
    ...(isRefused && { decision: 'deny', reason }),
    ...(decision === 'ask' && { decision: 'ask', reason }),
    hookSpecificOutput: context !== undefined && { hookEventName: event.native, additionalContext: context },
  })
}

function sayToCopilot(event: HookEvent, { decision, reason, context }: Said): HookOutput {
  const isDecided = decision !== 'none'
  if (event.kind === 'permission') return sayJson(isDecided ? behaveFlat(decision, reason) : {})
  return sayJson({
    ...(event.kind === 'tool_before' && isDecided && { permissionDecision: decision }),
    ...(event.kind === 'tool_before' && isDecided && decision !== 'allow' && { permissionDecisionReason: reason }),
    ...(event.kind === 'stop' && isDecided && { decision: 'block', reason }),
    ...(context !== undefined && { additionalContext: context }),
  })
}

function behaveFlat(decision: Said['decision'], reason: string): Record<string, unknown> {
  return decision === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: reason }
}

/** Fields that are undefined or false are left out; nothing to say is silence. `notice` is `systemMessage` in every vendor that has it. */
function sayJson({ notice, ...fields }: Record<string, unknown>): HookOutput {
  const given = { ...fields, systemMessage: notice || undefined }
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== false)
  return kept.length === 0 ? SILENCE : { ...SILENCE, stdout: JSON.stringify(Object.fromEntries(kept)) }
}
