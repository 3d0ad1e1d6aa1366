import { globSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/** Tests with programs that are not our dependencies; `npm run test:agents` installs and runs them. */
const LIVE = 'test/agents/live/**/*.test.ts'

/** The test files that match the words of the command line, and the flags among them; all files without a word. */
export function selectTests(
  root: string,
  words: string[],
  { live = false }: { live?: boolean } = {},
): { files: string[]; flags: string[] } {
  const [pattern, others] = live ? [LIVE, []] : ['test/**/*.test.ts', [LIVE]]
  const all = globSync(pattern, { cwd: root, exclude: ['**/node_modules/**', ...others] }).sort()
  const flags = words.filter(word => word.startsWith('-'))
  const wanted = words.filter(word => !word.startsWith('-'))
  const files = wanted.length === 0 ? all : all.filter(file => wanted.some(word => means(root, word, file)))
  return { files, flags }
}

function means(root: string, word: string, file: string): boolean {
  const path = relative(root, resolve(root, word))
  return file === path || file.startsWith(`${path}/`) || file.includes(word)
}
