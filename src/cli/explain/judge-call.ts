import { judgePermission } from '../../brain/rules/permission.ts'
import type { Assessment } from '../../domain/assessment.ts'
import { findPrecedent, type PrecedentAdvice } from '../../human/precedents.ts'
import type { Classifier } from '../../policy/classify/classify.ts'
import { realPathOf } from '../../policy/paths/real-path.ts'
import { type Decision, type DecisionContext, decide } from '../../policy/verdict/decide.ts'
import type { PolicyRule } from '../../policy/verdict/rules.ts'
import type { ProjectPolicy } from './project-policy.ts'

/** A tool call that is only talked about. */
export interface Call {
  tool: string
  input: unknown
  project: string
  home: string
}

export interface JudgeParts {
  classifier: Classifier
  policy: ProjectPolicy
  /** Whether somebody is there to be asked. */
  attached: boolean
  /** Rules after those of the files. */
  moreRules?: (assessment: Assessment) => readonly PolicyRule[]
  /** In place of what people answered before. */
  precedent?: DecisionContext['precedent']
}

export interface Judged {
  assessment: Assessment
  decision: Decision
  /** What a person answered before, where it was looked up. */
  remembered?: PrecedentAdvice | undefined
}

/** What would become of a call. Nothing is run and nothing is remembered. */
export async function judgeCall(
  call: Call,
  { classifier, policy, attached, moreRules, precedent }: JudgeParts,
): Promise<Judged> {
  const { tool, input, home } = call
  const project = realPathOf(call.project) ?? call.project
  const { safeDirectories, settings, rules } = policy
  const assessment = await classifier.classify({ tool, input, project, home, safeDirectories })
  let remembered: PrecedentAdvice | undefined
  const recall = async (asked: Assessment) => {
    remembered = await findPrecedent(policy.answers, { project, tool, assessment: asked, memory: policy.memory })
    return remembered
  }
  const decision = await decide(
    assessment,
    {
      ...settings,
      tool,
      rules: moreRules ? [...rules.rules, ...moreRules(assessment)] : rules.rules,
      opinion: judgePermission,
      precedent: precedent ?? recall,
      attached,
    },
    NEVER,
  )
  return { assessment, decision, remembered }
}

/** The rule brain answers at once: there is nothing to break off. */
const NEVER = new AbortController().signal
