import { extname } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { refuse } from './problems.ts'
import type { Parsed, Reading } from './reading.ts'

/**
 * Reads requirements out of the text of a file: Markdown, YAML or plain text, by its name, else by its look. Throws
 * `requirements_wrong` with every problem's line and field, or `requirements_cycle`.
 */
export async function parseRequirements(path: string, text: string): Promise<Parsed> {
  // Windows marks the beginning of a text; the parsers leave that out and would count one letter too few.
  const plain = text.replace(/^\ufeff/, '')
  const read = await readerFor(path, plain)
  const { problems, requirements, taskLines } = readAll(path, () => read(plain))
  refuse(path, problems, requirements.tasks)
  // "Database:" says that there is something to say.
  const preferences = requirements.preferences.filter(({ value }) => value !== '')
  return { requirements: { ...requirements, preferences }, taskLines }
}

/** Imported on use: a parser takes longer to load than a command to start. */
async function readerFor(path: string, text: string): Promise<(text: string) => Reading> {
  const ending = extname(path).toLowerCase()
  if (['.yaml', '.yml', '.json'].includes(ending)) return (await import('./yaml/from-yaml.ts')).fromYaml
  const isMarkdown = ['.md', '.markdown', '.mdx', '.mkd'].includes(ending) || LOOKS_LIKE_MARKDOWN.test(text)
  if (isMarkdown) return (await import('./markdown/from-markdown.ts')).fromMarkdown
  return (await import('./from-text.ts')).fromText
}

/** A heading, or a box to be checked. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6}[ \t]+\S|[ \t]*([-*+]|\d+[.)])[ \t]+\[[ xX]\][ \t])/m

function readAll(path: string, read: () => Reading): Reading {
  try {
    return read()
  } catch (error) {
    // Parsers go down by calling themselves, and so do we.
    if (!(error instanceof RangeError)) throw error
    throw new AppError('requirements_wrong', { path, problems: 'it is nested too deeply to be read' }, error)
  }
}
