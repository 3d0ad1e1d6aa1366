import type { BrainContext } from '../../src/domain/brain.ts'
import { defaultValues, nestValues, type Values } from '../../src/domain/config/settings.ts'
import type { QuestionItem } from '../../src/domain/session.ts'

/** Settings of a test, over the defaults. */
export function configWith(settings: Partial<Values>) {
  return nestValues({ ...defaultValues(), ...settings })
}

export const CONTEXT: BrainContext = {
  project: '/home/ada/shop',
  task: 'Add a cart to the shop',
  requirements: {
    title: 'Shop',
    tasks: [],
    preferences: [{ key: 'Database', value: 'SQLite' }],
    constraints: ['No new services'],
  },
  decisions: [{ question: 'Which test runner?', answer: 'node:test', by: 'you' }],
  similar: [{ question: 'Which store?', answer: 'SQLite', by: 'you', at: 0 }],
}

export function question(text: string, labels: string[], multiSelect = false): QuestionItem {
  return { question: text, header: '', multiSelect, options: labels.map(label => ({ label, description: '' })) }
}

export const DATABASE = question('Which database should I use?', ['SQLite', 'PostgreSQL'])

/** A reply as a model should give it. */
export function reply(...answers: string[][]): string {
  return JSON.stringify({
    answers: answers.map(chosen => ({ chosen })),
    confidence: 0.92,
    reasoning: 'The requirements say so.',
  })
}
