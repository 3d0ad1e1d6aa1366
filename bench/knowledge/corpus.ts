import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from '../program.ts'

/** A project in git that was made for a measurement. */
export interface Corpus {
  root: string
  files: string[]
  bytes: number
}

/**
 * Writes so many bytes of source code: our own, again and again, in another folder each time. Every copy calls its longer names differently,
 * because a large project has more words than a small one.
 */
export function makeCorpus(root: string, bytes: number): Corpus {
  const source = join(ROOT, 'src')
  const originals = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .sort()
    .map(path => ({ path, text: readFileSync(join(source, path), 'utf8') }))
  const corpus: Corpus = { root, files: [], bytes: 0 }
  for (let copy = 0; corpus.bytes < bytes; copy += 1) {
    for (const { path, text } of originals) {
      if (corpus.bytes >= bytes) break
      const name = join(`part-${copy}`, path)
      const own = text.replace(/\b[a-z]{3,}[A-Z][A-Za-z]{5,}\b/g, word =>
        word.length % 3 === 0 ? `${word}Of${letters(copy)}` : word,
      )
      mkdirSync(dirname(join(root, name)), { recursive: true })
      writeFileSync(join(root, name), own)
      corpus.files.push(name)
      corpus.bytes += Buffer.byteLength(own)
    }
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.invalid', ...args], {
      cwd: root,
      stdio: 'pipe',
    })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-q', '-m', 'all of it')
  return corpus
}

function letters(copy: number): string {
  return String.fromCharCode(65 + (copy % 26)) + String.fromCharCode(97 + (Math.floor(copy / 26) % 26))
}

/** Questions as people ask them: a few words that occur together in some file, always the same ones. */
export function makeQueries({ root, files }: Corpus, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const file = files[(n * 7919) % files.length] ?? ''
    const words = readFileSync(join(root, file), 'utf8').match(/\b[a-z]{4,}\b/gi) ?? ['nothing']
    return Array.from({ length: 2 + (n % 5) }, (_, at) => words[(n * 31 + at * 97) % words.length]).join(' ')
  })
}
