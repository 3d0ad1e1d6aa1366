import type { Reason } from '../../../domain/assessment.ts'
import type { Arg } from '../words/arg.ts'

/** Words of a sum or a test: an index in them is a sum again, and what is substituted there runs. */
export function judgeEvaluated(words: readonly Arg[], add: (reason: Reason) => undefined): undefined {
  for (const { value, text, at } of words)
    if (runsWhenEvaluated(value))
      add({ code: 'shell.arithmetic', risk: 'HIGH', text: `${text} runs a command when it is evaluated`, at })
}

/** Whether a text holds an array index with a command in it. */
export function runsWhenEvaluated(text: string): boolean {
  return /\[[^\]]*(\$\(|`)/.test(text)
}
