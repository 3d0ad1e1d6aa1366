import type { Assessment } from '../../domain/assessment.ts'
import type { Suggestion } from '../../domain/brain/suggestion.ts'
import type { Request } from '../../domain/session.ts'
import { OWN_SERVER } from '../../domain/tools/agent-tools.ts'
import { precedents } from '../../human/precedents.ts'
import { rulesFromAllowedTools } from '../../policy/verdict/allowed-tools.ts'
import { type Decision, decide } from '../../policy/verdict/decide.ts'
import { opinionOn, type PermissionAdvice } from '../brain/opinion-on.ts'
import type { Parts, Run } from '../run.ts'

export interface Judgement {
  decision: Decision
  /** Absent when the policy itself failed. */
  assessment?: Assessment
  /** What a brain would say, for the person who is asked. */
  suggestion?: Suggestion | undefined
}

/** Where policy and brain meet: what the request is, and what is to be done with it. Whatever fails on the way is a refusal. */
export async function judge(
  request: Request,
  signal: AbortSignal,
  { run, parts }: { run: Run; parts: Parts },
): Promise<Judgement> {
  const { policy } = run
  let suggestion: Suggestion | undefined
  try {
    const { project, home, safeDirectories, worktree } = policy
    const { tool, input, cwd } = request
    // Ours by who runs the server, never by its name: a project's own may be called the same.
    const ownServers = request.own ? [OWN_SERVER] : []
    const assessment = await parts.policy.classify({
      ...{ tool, input, cwd, project, home, worktree, safeDirectories, ownServers },
    })
    const decision = await decide(
      assessment,
      {
        tool,
        blocked: policy.blocked,
        rules: [...(await policy.rules()), ...rulesFromAllowedTools(policy.allowedTools, request, assessment)],
        autoApproveLow: policy.autoApproveLow,
        threshold: policy.threshold,
        precedent: asked => precedents(parts.store, parts.clock, run.mind.memory).find(project, tool, asked),
        opinion: async (asked, until) => {
          const advice = await opinionOn(request, asked, until, { run, parts })
          suggestion = suggested(advice)
          return advice
        },
        attached: parts.terminals.isAttached(run.id),
        unattendedHigh: policy.unattendedHigh,
      },
      signal,
    )
    return { assessment, decision, suggestion }
  } catch (error) {
    run.log.error({ error, tool: request.tool }, 'the policy failed')
    return { decision: FAILED }
  }
}

/** One who is not sure of anything suggests nothing. */
function suggested({ approve, confidence, by, reasoning }: PermissionAdvice): Suggestion | undefined {
  return confidence > 0 ? { answer: [approve ? 'allow' : 'deny'], confidence, by, reasoning } : undefined
}

const FAILED: Decision = {
  verdict: 'deny',
  risk: 'HIGH',
  reason: 'the policy failed on it; go on another way, or leave it and say so in your report',
  confidence: 1,
  by: 'policy',
}
