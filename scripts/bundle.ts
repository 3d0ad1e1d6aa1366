import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What is started as a process or a thread of its own. */
export const ENTRIES = [
  'src/cli/main.ts',
  'src/base/process/forks-child.ts',
  'src/policy/classify/assess-worker.ts',
  'src/workspace/verify/diff/judge-worker.ts',
  'src/daemon/watchdog/watch.ts',
]
/** Packages of many files, which take long to load one by one; the rest stays where npm puts it. */
const INLINED = ['commander', 'croner', 'fastify', 'kysely', 'smol-toml', 'unbash', 'yaml', 'zod']
/** The CommonJS packages among them call this for a built-in module. */
const REQUIRE = `import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);`

interface Bundling {
  /** The folder with the entries and package.json. */
  root: string
  entries?: readonly string[]
  /** Where the entries lie in `outDir`: their paths from here on. */
  base: string
  outDir: string
  flags?: readonly string[]
}

/** Bundles the program: what several entries or lazily loaded commands share becomes a chunk of its own. */
export function bundle(esbuild: string, { root, entries = ENTRIES, base, outDir, flags = [] }: Bundling): void {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const external = Object.keys(dependencies).flatMap(name => (INLINED.includes(name) ? [] : [`--external:${name}`]))
  const shape = ['--bundle', '--splitting', '--platform=node', '--format=esm', '--target=node24']
  const out = [`--outdir=${outDir}`, `--outbase=${base}`, '--chunk-names=chunks/[name]-[hash]', '--log-level=warning']
  execFileSync(esbuild, [...entries, ...shape, `--banner:js=${REQUIRE}`, ...out, ...external, ...flags], {
    cwd: root,
    stdio: 'pipe',
  })
}

/** Of what is published: comments and white space are only read by people, who read the source. */
export const MINIFIED = ['--minify-syntax', '--minify-whitespace', '--legal-comments=none']
