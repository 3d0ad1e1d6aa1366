import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { applied, findMutations, isMutant, type Mutation } from './sites.ts'

/** The sampled parts; Stryker tries every mutant of `policy`. */
export const PARTS = ['supervisor', 'tasks', 'workspace', 'human', 'store', 'daemon']

/** A mutant of a file of the checkout. */
export interface Mutant extends Mutation {
  /** Place and kind, for example `store/outbox.ts:31:9 where dropped`. */
  id: string
  part: string
  /** Relative to the root. */
  file: string
  text: string
}

export interface Sampling {
  parts: string[]
  count: number
  seed: string
}

export const hashOf = (...texts: string[]): string =>
  createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 16)

/**
 * Samples mutants, distributed over the parts by their number of sites, at most one per site. They are ordered by a hash of
 * the seed and the mutant's name: the same seed gives the same sample, and a change of one file keeps the mutants of others.
 */
export function sampleMutants(root: string, { parts, count, seed }: Sampling): Mutant[] {
  const all = parts.map(part => inOrder(mutantsOf(root, part), seed))
  const paths = all.reduce((sum, mutants) => sum + mutants.length, 0)
  const chosen = all.map(mutants => {
    const share = Math.round((count * mutants.length) / Math.max(paths, 1))
    return take(mutants, share)
  })
  // Interleaved, so that an interrupted run has covered every part.
  const longest = Math.max(0, ...chosen.map(mutants => mutants.length))
  return Array.from({ length: longest }, (_, at) => chosen.flatMap(mutants => mutants[at] ?? [])).flat()
}

/** The mutants of one part, or of one file of it. */
export function mutantsOf(root: string, part: string): Mutant[] {
  const files = globSync(`src/${part}/**/*.ts`, { cwd: root }).sort()
  return files.flatMap(file => {
    const text = readFileSync(join(root, file), 'utf8')
    const starts = [...text.matchAll(/^/gm)].map(({ index }) => index)
    return findMutations(file, text).map(mutation => {
      const line = starts.findLastIndex(start => start <= mutation.start)
      const place = `${file.replace(/^src\//, '')}:${line + 1}:${mutation.start - (starts[line] ?? 0) + 1}`
      return { ...mutation, id: `${place} ${mutation.kind}`, part, file, text }
    })
  })
}

/** The lines that a mutant changes, before and after. */
export function diffOf({ text, start, end, ...rest }: Mutant): string {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const lineEnd = text.indexOf('\n', end)
  const to = lineEnd === -1 ? text.length : lineEnd
  const after = applied(text, { text, start, end, ...rest } as Mutant).slice(
    from,
    to + rest.replacement.length - (end - start),
  )
  const marked = (sign: string, lines: string) => lines.split('\n').map(line => `${sign} ${line}`)
  return [...marked('-', text.slice(from, to)), ...marked('+', after)].join('\n')
}

function inOrder(mutants: Mutant[], seed: string): Mutant[] {
  const keyed = mutants.map(mutant => ({ mutant, key: hashOf(seed, mutant.id) }))
  const paths = new Map<string, Mutant>()
  for (const { mutant } of keyed.sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const place = `${mutant.file}:${mutant.start}`
    if (!paths.has(place)) paths.set(place, mutant)
  }
  return [...paths.values()]
}

function take(mutants: Mutant[], count: number): Mutant[] {
  const taken: Mutant[] = []
  for (const mutant of mutants) {
    if (taken.length >= count) break
    if (isMutant(mutant.file, mutant.text, mutant)) taken.push(mutant)
  }
  return taken
}
