import { systemClock } from '../../base/clock.ts'
import { isAutomatic } from '../../domain/human/decided-by.ts'
import { openClassifier } from '../../policy/classify/classify.ts'
import { rulesFromAllowedTools } from '../../policy/verdict/allowed-tools.ts'
import type { Advice } from '../../policy/verdict/decide.ts'
import { type RecordedRequest, recordedRequests } from '../../store/decisions/recorded-requests.ts'
import type { Context } from '../context.ts'
import { judgeCall } from '../explain/judge-call.ts'
import { type ProjectPolicy, projectPolicy } from '../explain/project-policy.ts'
import { type Change, replayLines } from './replay-lines.ts'
import { trialFile } from './trial-file.ts'

/** Beyond this nobody reads on; the counts are of all. */
const MOST_CHANGES = 1000

/** Decides recorded requests again under the rules of now, and shows those that would end otherwise. Nothing is run. */
export async function replay(context: Context, { since, rules }: { since: number; rules?: string }): Promise<void> {
  const { places, env, json, out, note } = context
  const userFile = trialFile(rules)
  const from = systemClock.now() - since
  const home = env['HOME'] || places.home
  const policies = new Map<string, ProjectPolicy>()
  const policyFor = async (project: string): Promise<ProjectPolicy> => {
    const policy = policies.get(project) ?? (await projectPolicy({ places, env, project, userFile }))
    policies.set(project, policy)
    return policy
  }
  const here = await policyFor(process.cwd())
  if (here.problem) note(`${here.problem.message}. ${here.problem.next}`)

  using classifier = openClassifier()
  const counts = { requests: 0, changed: 0 }
  const changes: Change[] = []
  for await (const recorded of recordedRequests(places.database, from)) {
    counts.requests++
    const { request, project, allowedTools } = recorded
    const { tool, input } = request
    const { decision } = await judgeCall(
      { tool, input, project, home },
      {
        classifier,
        policy: await policyFor(project),
        attached: wasAsked(recorded),
        moreRules: assessment => rulesFromAllowedTools(allowedTools, { tool, input }, assessment),
        precedent: async () => precedentOf(recorded),
      },
    )
    const change = changeOf(recorded, decision)
    if (!change) continue
    counts.changed++
    if (changes.length < MOST_CHANGES) changes.push(change)
  }
  if (json) out(JSON.stringify({ since: from, ...counts, changes }, null, 2))
  else for (const line of replayLines({ counts, changes, since }, context.terminal)) out(line)
}

function wasAsked({ decided }: RecordedRequest): boolean {
  return !isAutomatic(decided.by) && decided.by !== 'nobody'
}

/** An answer that counted then counts now; only rules are tried here. */
function precedentOf({ decided }: RecordedRequest): Advice | undefined {
  const { by, verdict, confidence, reason } = decided
  return by === 'precedent' ? { approve: verdict === 'allow', confidence, reason } : undefined
}

/** Somebody who was asked then would be asked again. With nobody there a question is a refusal, then as now. */
function changeOf(
  recorded: RecordedRequest,
  now: { verdict: Change['now']; by: string; reason: string; rule?: string },
) {
  const asked = wasAsked(recorded)
  const { time, session, request, decided } = recorded
  const was = asked ? 'ask' : decided.verdict
  const becomes = now.verdict === 'ask' && !asked ? 'deny' : now.verdict
  if (was === becomes) return undefined
  const { call_id, tool, target } = request
  const why = now.rule ?? now.reason
  return { time, session, call_id, tool, target, was, now: now.verdict, by: now.by, why } satisfies Change
}
