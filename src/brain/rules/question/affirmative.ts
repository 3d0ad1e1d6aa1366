import type { QuestionItem } from '../../../domain/session.ts'

/** What "yes" is called here: the one option that agrees, or the word itself where there are no options. */
export function affirmative({ options, multiSelect }: QuestionItem): string | string[] | undefined {
  const label = options.length === 0 ? 'Yes' : only(options, AGREES)
  return label === undefined || !multiSelect ? label : [label]
}

/** What "no" is called here, in the same way. */
export function negative({ options, multiSelect }: QuestionItem): string | string[] | undefined {
  const label = options.length === 0 ? 'No' : only(options, REFUSES)
  return label === undefined || !multiSelect ? label : [label]
}

const AGREES =
  /^(y|yes|yep|yeah|ok|okay|sure|proceed|continue|go ahead|go on|do it|approve|approved|confirm|looks good|start|begin|keep going)\b/i
const REFUSES = /^(n|no|nope|don't|do not|skip|leave|not now|cancel)\b/i

/** "Yes" and "Yes, with tests" are two ways to agree: then the plain one, or nobody can tell. */
function only(options: QuestionItem['options'], pattern: RegExp): string | undefined {
  const fitting = options.filter(({ label }) => pattern.test(label.trim()))
  if (fitting.length === 1) return fitting[0]?.label
  const plain = fitting.filter(({ label }) =>
    /^(yes|no|proceed|continue|ok|okay)\W*(\(recommended\))?$/i.test(label.trim()),
  )
  return plain.length === 1 ? plain[0]?.label : undefined
}
