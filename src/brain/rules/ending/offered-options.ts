import type { QuestionItem } from '../../../domain/session.ts'

/** What a choice in prose is between: the items of the list beside it, or "A or B" in the question itself. */
export function offeredOptions(question: string, about: string): QuestionItem['options'] {
  const listed = about
    .split('\n')
    .flatMap(line => /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-hA-H])[.)])\s+(.+)$/.exec(line)?.[1] ?? [])
    .map(text => text.replace(/\*\*|__|`/g, ''))
  const offered = listed.length > 1 ? listed.map(optionOf) : alternatives(question)
  return offered.length > 1 && offered.length <= MOST ? offered : []
}

const MOST = 8

/** "Option A: polling" is called by what stands behind the colon as well. */
function optionOf(text: string): QuestionItem['options'][number] {
  const [, name, rest] = /^(.{1,40}?)(?::| [-–—]) +(.+)$/.exec(text) ?? []
  if (name === undefined || rest === undefined) return { label: text.replace(/[.;]$/, ''), description: '' }
  return /^(option|variant|approach|choice)\b/i.test(name)
    ? { label: rest.replace(/[.;]$/, ''), description: name }
    : { label: name, description: rest }
}

function alternatives(question: string): QuestionItem['options'] {
  const [, first, second] =
    /([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?),? or (?:an? |the )?([\w.+#`'-]+(?: [\w.+#`'-]+){0,3}?)(?: (?:for|in|as|to|with|on|here)\b.*)?\?/i.exec(
      question,
    ) ?? []
  if (first === undefined || second === undefined) return []
  const bare = first.replace(/^.*\b(?:use|prefer|want|with|choose|pick|between|either|in|as|the|a|an)\s+/i, '')
  return [bare, second].map(label => ({ label: label.replace(/[`']/g, ''), description: '' }))
}
