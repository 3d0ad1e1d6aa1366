import { findingsInPrompt } from '../../policy/trust/prompt-findings.ts'
import { readerOf } from '../../workspace/detect/reader.ts'
import { skillsIn } from '../../workspace/detect/skills.ts'
import type { BriefSection } from './build-brief.ts'

/** Longer than what Claude Code takes of a description would be the skill itself. */
const MOST_LETTERS = 300

/**
 * Names the skills of a project, for agents that do not load them by themselves. Those that could run code or widen rights
 * are not named: whether they count is asked elsewhere.
 */
export async function skillsSection(project: string): Promise<BriefSection> {
  const plain = (await skillsIn(readerOf(project))).filter(({ text }) => findingsInPrompt(text).length === 0)
  const lines = plain.map(({ path, description }) => `${path}: ${short(description)}`)
  return {
    name: 'skills',
    title: 'Skills of this project',
    pieces: lines.length === 0 ? [] : [{ text: WORDS, verbatim: lines.join('\n') }],
    tokens: 800,
    weight: 20,
  }
}

const WORDS = 'Where you have not loaded them already, read the file of one that fits before you do what it is about:'

function short(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS - 1)}…` : line
}
