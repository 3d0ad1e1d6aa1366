import type { HookAnswer, HookEventOf } from '../../domain/hooks.ts'
import type { Decision, DecisionContext } from '../../policy/verdict/decide.ts'
import { type JudgeCallDeps, judgeExplained, type ProjectPolicy } from '../judge-call.ts'
import type { AnswerEvent, HookContext } from './router.ts'

/** The settings and rules of a project, as a hook needs them. */
export interface HookPolicy extends ProjectPolicy {
  /** Values that no call may carry away. */
  secrets: readonly string[]
}

export interface TriageDeps {
  classifier: JudgeCallDeps['classifier']
  /** The directory of the person's home, which `~` stands for. */
  home: string
  policyFor(project: string): Promise<HookPolicy>
  /** Whether another hook of the vendor may change the call after our answer. */
  mayInputChange(event: DecidedEvent, context: HookContext): Promise<boolean>
  /** Asks the brains about a call that the vendor is about to ask a person about; only a daemon has some. */
  opinion?(call: Pick<DecidedEvent, 'tool' | 'input'>, context: HookContext): DecisionContext['opinion']
  /** Called with every verdict, to record it. */
  decided(event: DecidedEvent, decision: Decision): void
}

export type DecidedEvent = HookEventOf<'tool_before'> | HookEventOf<'permission'>

/**
 * Decides about calls by the policy, the person's rules, their earlier answers and the rule brain, as for a session with nobody there.
 *
 * A call is judged twice where the vendor asks about it: before it runs, and when its dialog is about to open. Both times the verdict is
 * about exactly the input of that event and needs no memory of the other. The brains are asked the second time only, and if they are
 * silent, slow or unsure, the dialog opens. If another hook may change the input after our first answer,
 * that answer is `ask`: the vendor then asks about the input as it will run, and that one is judged and allowed.
 */
export function judgeCalls(deps: TriageDeps): AnswerEvent<'tool_before' | 'permission'> {
  return async (event, context) => {
    // The vendor's own dialog is the answer to these: `questions` may answer from memory.
    if (event.tool === 'AskUserQuestion') return undefined
    const { verdict, reason } = await decideCall(event, context, deps)
    if (verdict === 'deny') return { decision: 'deny', reason: `Not allowed: ${reason}` }
    if (verdict === 'ask') return event.kind === 'permission' ? undefined : { decision: 'ask', reason }
    if (event.kind === 'permission') return allowExactly(event, reason)
    const isOpen = await deps.mayInputChange(event, context)
    return isOpen ? { decision: 'ask', reason: `${reason} (pcc)` } : { decision: 'allow', reason }
  }
}

async function decideCall(event: DecidedEvent, context: HookContext, deps: TriageDeps): Promise<Decision> {
  const { project, signal } = context
  const policy = await deps.policyFor(project)
  const { cwd } = event
  const settings = {
    ...policy.settings,
    unattendedHigh: policy.hooksHigh === 'ask' ? ('wait' as const) : ('deny' as const),
  }
  const judge = async ({ tool, input }: Pick<DecidedEvent, 'tool' | 'input'>) => {
    const call = { tool, input, project, home: deps.home, cwd, secrets: policy.secrets }
    const opinion = event.kind === 'permission' ? deps.opinion?.({ tool, input }, context) : undefined
    const asked = opinion && { opinion, signal }
    const judged = { classifier: deps.classifier, policy: { ...policy, settings }, attached: false, ...asked }
    return (await judgeExplained(call, judged)).decision
  }
  const parts = event.parts?.length ? event.parts : [event]
  const decision = strictest(await Promise.all(parts.map(judge)))
  deps.decided(event, decision)
  return decision
}

/** A call that stands for several is allowed if each of them is. */
function strictest(decisions: readonly Decision[]): Decision {
  const [first, ...others] = decisions
  if (!first) throw new Error('a call without parts was judged')
  const rank = ({ verdict }: Decision) => ['allow', 'ask', 'deny'].indexOf(verdict)
  return others.reduce((worst, other) => (rank(other) > rank(worst) ? other : worst), first)
}

/** Claude Code runs the input that the answer carries, whatever another hook says meanwhile. */
function allowExactly({ vendor, input }: DecidedEvent, reason: string): Partial<HookAnswer> {
  return { decision: 'allow', reason, ...(vendor === 'claude' && { input }) }
}
