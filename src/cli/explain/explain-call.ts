import { openClassifier } from '../../policy/classify/classify.ts'
import { explainTree } from '../../policy/verdict/explain.ts'
import { openRememberedAnswers } from '../../store/decisions/remembered-answers.ts'
import type { Context } from '../context.ts'
import type { Tone } from '../render/paint.ts'
import { neutral } from '../render/text.ts'
import { type Call, judgeCall } from './judge-call.ts'
import { projectPolicy } from './project-policy.ts'
import { deciderOf, wouldChange } from './would-change.ts'

/** Prints what a call is made of, with the risk of each piece, what decided and what would change it. */
export async function explainCall(call: Call, { places, env, terminal, json, out, note }: Context): Promise<void> {
  using classifier = openClassifier()
  using answers = openRememberedAnswers(places.database)
  const policy = await projectPolicy({ places, env, project: call.project, answers })
  const { assessment, decision, remembered } = await judgeCall(call, { classifier, policy, attached: false })
  const { decision: atTerminal } = await judgeCall(call, { classifier, policy, attached: true })
  const facts = { call, assessment, decision, policy, remembered }
  const decider = deciderOf(facts)
  const changes = wouldChange(facts)
  if (policy.problem) note(`${policy.problem.message}. ${policy.problem.next}`)
  if (json) {
    const { risk, verdict, confidence, by, reason } = decision
    const { tool, project } = call
    const { reasons, pieces, normalised } = assessment
    const attached = { verdict: atTerminal.verdict, by: atTerminal.by }
    const page = { tool, project, normalised, risk, verdict, confidence, by, reason, decided: decider, attached }
    out(JSON.stringify({ ...page, would_change: changes, reasons, pieces }, null, 2))
    return
  }
  const { paint } = terminal
  for (const line of explainTree(assessment)) out(paintRisk(line, paint))
  out('')
  out(`${paint('bold', 'Risk:')}      ${paint(TONES[decision.risk] ?? 'bold', decision.risk)}`)
  out(`${paint('bold', 'Verdict:')}   ${verdictLine(decision, atTerminal)}`)
  out(`${paint('bold', 'Decided:')}   ${neutral(decider)}`)
  out(`${paint('bold', 'Reason:')}    ${neutral(decision.reason)}`)
  out(paint('bold', 'What would change it:'))
  for (const change of changes) out(`  - ${neutral(change)}`)
}

const TONES: Record<string, Tone> = { LOW: 'green', MEDIUM: 'yellow', HIGH: 'red' }
const WORDS = { allow: 'allowed', deny: 'denied', ask: 'a person is asked' }

type Verdict = keyof typeof WORDS

function verdictLine(
  { verdict, confidence }: { verdict: Verdict; confidence: number },
  attached: { verdict: Verdict },
) {
  const sure = verdict === 'ask' ? '' : ` (confidence ${confidence})`
  if (attached.verdict === verdict) return `${WORDS[verdict]}${sure}`
  return `${WORDS[verdict]} with nobody there; ${WORDS[attached.verdict]} at an attached terminal`
}

function paintRisk(line: string, paint: (tone: Tone, text: string) => string): string {
  return line.replace(/^( *(?:- )?)(LOW|MEDIUM|HIGH)\b/, (_, indent: string, risk: string) => {
    return indent + paint(TONES[risk] ?? 'bold', risk)
  })
}
