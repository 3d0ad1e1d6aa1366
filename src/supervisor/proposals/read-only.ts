import type { Assessment } from '../../domain/assessment.ts'
import type { Asks, Request } from '../../domain/session.ts'
import type { Question } from '../../policy/classify/classify.ts'
import { decide } from '../../policy/verdict/decide.ts'
import type { SessionPolicy } from '../asks/session-policy.ts'

/** All that an agent has that is to look and not to touch. */
export const READING_TOOLS = ['Read', 'Grep', 'Glob']

/**
 * The asks of an agent that may only read: the tools that read, where the policy lets any session read unasked. Nobody is there to
 * be asked, so everything else is refused, and a question is given back.
 */
export function readOnlyAsks(policy: SessionPolicy, classify: (asked: Question) => Promise<Assessment>): Asks {
  return {
    async permission(request, signal) {
      if (!READING_TOOLS.includes(request.tool)) return refusal('you may only read here: Read, Grep and Glob')
      const decision = await decideOn(request, signal)
      return decision.verdict === 'allow' ? decision : refusal(`it may not be read unasked (${decision.reason})`)
    },
    question: async () => ({
      declined: 'Nobody can be asked now. Choose what is most likely wanted, and name it in your remarks.',
      by: 'nobody',
    }),
  }

  async function decideOn({ tool, input, cwd }: Request, signal: AbortSignal) {
    const { project, home, safeDirectories, worktree, blocked, threshold } = policy
    const assessment = await classify({ tool, input, cwd, project, home, worktree, safeDirectories })
    const rules = await policy.rules()
    const context = { tool, blocked, rules, threshold, autoApproveLow: true, attached: false } as const
    return decide(assessment, { ...context, unattendedHigh: 'deny' }, signal)
  }
}

function refusal(why: string) {
  return { verdict: 'deny', risk: 'MEDIUM', reason: `Refused: ${why}.`, confidence: 1, by: 'policy' } as const
}
