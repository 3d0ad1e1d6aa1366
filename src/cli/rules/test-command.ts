import { openClassifier } from '../../policy/classify/classify.ts'
import { ruleFor, shownRule } from '../../policy/verdict/rules.ts'
import { openRememberedAnswers } from '../../store/decisions/remembered-answers.ts'
import type { Context } from '../context.ts'
import { judgeCall } from '../explain/judge-call.ts'
import { projectPolicy } from '../explain/project-policy.ts'
import { deciderOf } from '../explain/would-change.ts'
import { neutral } from '../render/text.ts'
import { trialFile } from './trial-file.ts'

/** Which rules match a command here, and what becomes of it. */
export async function testCommand(context: Context, command: string, options: { rules?: string }): Promise<void> {
  const { places, env, json, out, note, terminal } = context
  const project = process.cwd()
  const userFile = trialFile(options.rules)
  using answers = openRememberedAnswers(places.database)
  const policy = await projectPolicy({ places, env, project, userFile, answers })
  using classifier = openClassifier()
  const call = { tool: 'Bash', input: { command }, project, home: env['HOME'] || places.home }
  const { assessment, decision, remembered } = await judgeCall(call, { classifier, policy, attached: false })
  const matching = policy.rules.written.filter(({ rule }) => ruleFor(call.tool, assessment, [rule]) !== undefined)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  const { verdict, risk, by, reason } = decision
  if (json) {
    const rules = matching.map(({ rule, file, line, number }) => ({ number, ...rule, file, line }))
    out(JSON.stringify({ command, verdict, risk, by, reason, rule: decision.rule ?? null, matching: rules }, null, 2))
    return
  }
  const decider = neutral(deciderOf({ call, assessment, decision, policy, remembered }))
  out(`${terminal.paint('bold', verdict)}  ${risk} risk; ${by === 'precedent' ? '' : 'decided by '}${decider}`)
  out(matching.length === 0 ? 'No rule matches.' : 'Rules that match:')
  for (const { rule, file, line } of matching) {
    const mark = by === 'rule' && shownRule(rule) === decision.rule ? '>' : ' '
    out(` ${mark} ${neutral(shownRule(rule))}  ${terminal.paint('dim', `${file}:${line}`)}`)
  }
}
