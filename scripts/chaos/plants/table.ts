import { readFileSync, writeFileSync } from 'node:fs'
import type { KeptResults } from '../results.ts'
import { PLANTS } from './all.ts'

const BEGIN = '<!-- plants: written by npm run chaos -- --plant -->\n'
const END = '<!-- end of plants -->'

/** The table of a page: what was planted, and how it went the last time. */
export function plantTable({ planted }: Pick<KeptResults, 'planted'>): string {
  const rows = PLANTS.map(({ id, hurts, breaks }) => {
    const { rounds, by } = planted[id] ?? { rounds: 0, by: '' }
    const seen = rounds === 0 ? 'not run' : by === '' ? `**not within ${rounds}**` : String(rounds)
    const wanted = breaks.map(name => `\`${name}\``).join(' or ')
    return `| \`${id}\` | ${hurts} | ${by === '' ? wanted : named(by)} | ${seen} |`
  })
  return ['| planted | what it does to people | seen by | after rounds |', '|---|---|---|---|', ...rows, ''].join('\n')
}

function named(by: string): string {
  return by
    .split(', ')
    .map(name => `\`${name}\``)
    .join(', ')
}

/** Puts the table in its place on a page. */
export function writePlantTable(page: string, results: Pick<KeptResults, 'planted'>): void {
  const text = readFileSync(page, 'utf8')
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${page}: there is no place for the table of plants`)
  writeFileSync(page, `${text.slice(0, before + BEGIN.length)}${plantTable(results)}${text.slice(after)}`)
}
