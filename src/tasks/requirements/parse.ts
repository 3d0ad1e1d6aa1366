import { extname } from 'node:path'
import { fromText } from './from-text.ts'
import { fromMarkdown } from './markdown/from-markdown.ts'
import { refuse } from './problems.ts'
import type { Parsed, Reading } from './reading.ts'
import { fromYaml } from './yaml/from-yaml.ts'

/**
 * Reads requirements out of the text of a file: Markdown, YAML or plain text, by its name, else by its look. Throws
 * `requirements_wrong` with every problem's line and field, or `requirements_cycle`.
 */
export function parseRequirements(path: string, text: string): Parsed {
  const { problems, ...parsed } = readerFor(path, text)(text)
  const { requirements } = parsed
  refuse(path, problems, requirements.tasks)
  // "Database:" says that there is something to say.
  const preferences = requirements.preferences.filter(({ value }) => value !== '')
  return { ...parsed, requirements: { ...requirements, preferences } }
}

function readerFor(path: string, text: string): (text: string) => Reading {
  const ending = extname(path).toLowerCase()
  if (['.yaml', '.yml', '.json'].includes(ending)) return fromYaml
  if (['.md', '.markdown', '.mdx', '.mkd'].includes(ending)) return fromMarkdown
  return LOOKS_LIKE_MARKDOWN.test(text) ? fromMarkdown : fromText
}

/** A heading, or a box to be checked. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6}[ \t]+\S|[ \t]*([-*+]|\d+[.)])[ \t]+\[[ xX]\][ \t])/m
