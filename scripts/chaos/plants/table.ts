import type { KeptResults } from '../results.ts'
import { PLANTS } from './all.ts'

const BEGIN = '<!-- planted mistakes, made from bench/chaos.json by `npm run docs` -->'
const END = '<!-- end of planted mistakes -->'

/** The table of planted mistakes with their latest results. */
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

/** Inserts the table into the page, if the page has a place for it. */
export function withPlants(page: string, results: Pick<KeptResults, 'planted'>): string {
  const [before = '', rest] = page.split(BEGIN)
  if (rest === undefined) return page
  return `${before}${BEGIN}\n${plantTable(results)}${END}${rest.split(END)[1] ?? ''}`
}
