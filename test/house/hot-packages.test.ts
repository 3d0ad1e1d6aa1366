import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parseSync } from 'oxc-parser'
import { HOT } from '../../scripts/bundle.ts'
import { ROOT } from './source-tree.ts'

/** The packages that a file of `src` loads at once, itself or through others, each with the files on the way to it. */
function packagesLoadedBy(entry: string): Map<string, string[]> {
  const packages = new Map<string, string[]>()
  const ways = [[entry]]
  const seen = new Set([entry])
  for (const way of ways) {
    const file = way.at(-1) ?? entry
    const { staticImports, staticExports } = parseSync(file, readFileSync(join(ROOT, file), 'utf8')).module
    const sources = [
      ...staticImports.filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType)),
      ...staticExports.flatMap(({ entries }) => entries.filter(({ isType }) => !isType)),
    ].flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])
    for (const source of sources) {
      const target = source.startsWith('.') ? join(dirname(file), source) : source
      if (seen.has(target)) continue
      seen.add(target)
      if (target !== source) ways.push([...way, target])
      else if (!source.startsWith('node:')) packages.set(source, way)
    }
  }
  return packages
}

test('what is bundled for speed loads neither schemas, a query builder nor YAML, and commander only once', () => {
  const MAY_LOAD = ['smol-toml', 'unbash']
  assert.ok(packagesLoadedBy('src/store/open.ts').has('kysely'), 'the check sees packages')
  for (const name of new Set(Object.entries(HOT).flatMap(([file, more]) => [file, ...more]))) {
    const allowed = name === 'cli/program' ? [...MAY_LOAD, 'commander'] : MAY_LOAD
    const found = [...packagesLoadedBy(`src/${name}.ts`)].filter(([source]) => !allowed.includes(source))
    const message = `src/${name}.ts is bundled for speed: import only types on this way, or move what it needs into a file without the package`
    assert.deepEqual(found, [], message)
  }
})
