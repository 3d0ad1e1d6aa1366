import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** What is started as a process or a thread of its own. */
export const ENTRIES = [
  'src/cli/main.ts',
  'src/cli/hook-main.ts',
  'src/base/process/forks-child.ts',
  'src/base/syntax/parser-child.ts',
  'src/supervisor/knowledge/code-search-child.ts',
  'src/policy/classify/assess-worker.ts',
  'src/workspace/verify/diff/judge-child.ts',
  'src/daemon/watchdog/watch.ts',
]
/** Packages of many files, which take long to load one by one; the rest stays where npm puts it. */
const INLINED = ['commander', 'croner', 'fastify', 'kysely', 'smol-toml', 'unbash', 'yaml', 'zod']
/** The CommonJS packages among them call this for a built-in module. */
const REQUIRE_CALL = 'const require = name => requireFor(import.meta.url)(name);'
const REQUIRE = `import { createRequire as requireFor } from "node:module"; ${REQUIRE_CALL}`

const SHAPE = ['--bundle', '--platform=node', '--format=esm', '--target=node24']

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
  const external = keptOutside(root)
  const out = [`--outdir=${outDir}`, `--outbase=${base}`, '--chunk-names=chunks/[name]-[hash]', '--log-level=warning']
  execFileSync(
    esbuild,
    [...entries, ...SHAPE, '--splitting', `--banner:js=${REQUIRE}`, ...out, ...external, ...flags],
    {
      cwd: root,
      stdio: 'pipe',
    },
  )
}

/** Flags for the packages that are not taken into a bundle. */
export function keptOutside(root: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return Object.keys(dependencies).flatMap(name => (INLINED.includes(name) ? [] : [`--external:${name}`]))
}

/** Comments and white space are only read by people, who read the source. */
const MINIFIED = ['--minify-syntax', '--minify-whitespace', '--legal-comments=none']

/**
 * What a hot command loads, each as one file: a module costs nearly a millisecond to load, however small. Beside each file stands
 * what it imports on use and nearly always needs. Their common code is in each of them, and once more in the chunks for all
 * other commands.
 */
export const HOT: Record<string, string[]> = {
  'cli/main': ['cli/commands/list', 'cli/render/list-table'],
  'cli/hook-main': [],
  'supervisor/hooks/answer-inline': [],
  'cli/commands/status': ['cli/render/session-page'],
  'cli/commands/logs': [],
  'cli/commands/task/list': ['cli/commands/task/lines'],
  'cli/commands/config-rows': [],
  'cli/commands/trust': ['policy/trust/trust'],
  'cli/program': [],
  'cli/commands/accept': ['store/accepted-files'],
  'store/accepted-files': [],
  'cli/commands/explain': ['cli/commands/explain-call'],
  'cli/commands/rules': ['cli/commands/rules-actions'],
  'cli/commands/report': [],
  'cli/commands/agents': ['cli/commands/agents-survey', 'cli/load-settings'],
  'cli/commands/doctor': [
    ...['cli/commands/doctor-examine', 'cli/commands/doctor-checks', 'cli/connection/client'],
    ...['cli/load-settings', 'domain/choose-agent', 'domain/vendors'],
  ],
  'cli/commands/run/run': [
    ...['cli/commands/run/start-run', 'cli/commands/preflight'],
    ...['cli/load-settings', 'domain/choose-agent', 'domain/vendors', 'domain/config/layers'],
  ],
}

/** Bundles what npm publishes. */
export function bundlePackage(esbuild: string, { root, outDir }: Pick<Bundling, 'root' | 'outDir'>): void {
  const hot = Object.entries(HOT).flatMap(([file, more]) => [file, ...more])
  const entries = [...new Set([...ENTRIES, ...hot.map(name => `src/${name}.ts`)])]
  bundle(esbuild, { root, entries, base: 'src', outDir, flags: MINIFIED })
  takeBuiltinsIn(outDir)
  removeFacades(outDir)
  const files = globSync('**/*.js', { cwd: outDir }).map(file => join(outDir, file))
  const closures = Object.entries(HOT).map(([file, more]) => {
    const entry = join(outDir, `${file}.js`)
    return { entry, inlined: importedBy([entry, ...more.map(name => join(outDir, `${name}.js`))]) }
  })
  // A script takes the place of the hot file; without it, as in a damaged package, the file with its chunks still works.
  const scripts = SCRIPTS.map(name => join(outDir, name))
  const inChunks = scripts.map(file => [`${file}.js`, readFileSync(`${file}.js`)] as const)
  for (const { entry, inlined } of closures) {
    const external = files.filter(file => !inlined.has(file)).map(file => `--external:${file}`)
    const out = [`--outdir=${dirname(entry)}`, '--allow-overwrite', '--log-level=warning']
    execFileSync(esbuild, [entry, ...SHAPE, ...MINIFIED, ...out, ...external], { cwd: root, stdio: 'pipe' })
  }
  for (const file of scripts) writeScript(esbuild, file)
  for (const [file, text] of inChunks) writeFileSync(file, text)
  writeCompletions(join(outDir, 'cli'))
}

/** A chunk that only passes on what another one exports: esbuild writes one for each lazily loaded module that others share. */
const FACADE = /^\s*import\{([^}]+)\}from"\.\/([^"]+)";(?:import"[^"]+";)*export\{\1\};\s*$/

/** Imports what facades pass on from where it is: a file less in the package, and one less to load. */
function removeFacades(outDir: string): void {
  const targets = new Map<string, string>()
  for (const name of globSync('chunks/*.js', { cwd: outDir })) {
    const [, , target] = FACADE.exec(readFileSync(join(outDir, name), 'utf8')) ?? []
    if (target !== undefined) targets.set(basename(name), target)
  }
  for (const name of globSync('**/*.js', { cwd: outDir })) {
    const code = readFileSync(join(outDir, name), 'utf8')
    const direct = code.replaceAll(/(?<=\bimport\("[./]*\/)(?:chunks\/)?([\w-]+\.js)(?="\))/g, (path, file: string) =>
      path.replace(file, targets.get(file) ?? file),
    )
    if (direct !== code) writeFileSync(join(outDir, name), direct)
  }
  for (const name of targets.keys()) rmSync(join(outDir, 'chunks', name))
}

const CLIENT = 'src/domain/api-v1/client.ts'

/** Bundles the client of the API for other programs and for pages, which have no built-in modules, with its types. */
export function bundleClient(
  { esbuild, tsc }: { esbuild: string; tsc: string },
  { root, outDir }: Pick<Bundling, 'root' | 'outDir'>,
): void {
  const shape = ['--bundle', '--platform=neutral', '--format=esm', '--target=es2024', '--external:zod']
  const out = [`--outfile=${join(outDir, 'client.js')}`, '--log-level=warning']
  execFileSync(esbuild, [CLIENT, ...shape, ...MINIFIED, ...out], { cwd: root, stdio: 'pipe' })
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: object
  }
  const types = { declaration: true, emitDeclarationOnly: true, noEmit: false, rootDir: join(root, 'src') }
  const project = join(outDir, 'tsconfig.json')
  const options = {
    ...compilerOptions,
    ...types,
    outDir: join(outDir, 'types'),
    typeRoots: [join(root, 'node_modules/@types')],
  }
  writeFileSync(project, JSON.stringify({ compilerOptions: options, files: [join(root, CLIENT)] }))
  execFileSync(tsc, ['-p', project], { cwd: root, stdio: 'pipe' })
  rmSync(project)
}

/** Hot files that are written as one script, whose compiled functions are kept (`src/cli/compiled-script.ts`). */
const SCRIPTS = ['supervisor/hooks/answer-inline']

function writeScript(esbuild: string, file: string): void {
  const flags = ['--format=cjs', '--target=node24', '--define:import.meta.url=$scriptUrl', '--log-level=warning']
  const text = execFileSync(esbuild, [`${file}.js`, ...flags, ...MINIFIED], { encoding: 'utf8', maxBuffer: 1e8 })
  const code = text.replaceAll(/\bimport\((?=")/g, '$importHere(')
  if (/\bimport\(/.test(code)) throw new Error(`${file} imports what is known only when it runs`)
  writeFileSync(`${file}.cjs`, `//${createHash('sha256').update(code).digest('hex')}\n${code}`)
}

/** Writes the completion scripts beside the program, which then only prints them. */
function writeCompletions(folder: string): void {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = execFileSync(process.execPath, [join(folder, 'main.js'), 'completion', shell], { stdio: 'pipe' })
    writeFileSync(join(folder, `completion.${shell}`), script)
  }
}

/** The files, and all that they import at once. */
function importedBy(files: string[], found = new Set<string>()): Set<string> {
  for (const file of files.filter(each => !found.has(each))) {
    found.add(file)
    const imports = readFileSync(file, 'utf8').matchAll(/\b(?:import|export)\s*(?:[\w$*{}\s,]+?from\s*)?"(\.[^"]+)"/g)
    importedBy(
      [...imports].map(([, path = '']) => join(dirname(file), path)),
      found,
    )
  }
  return found
}

const IMPORT = /\bimport\s*([\w$*{}\s,]+?)\s*from\s*"(node:[\w/]+)";/g

/** Does what `takeBuiltins` says to every file that was bundled into a folder. */
export function takeBuiltinsIn(folder: string): void {
  for (const name of globSync('**/*.js', { cwd: folder })) {
    const file = join(folder, name)
    writeFileSync(file, takeBuiltins(readFileSync(file, 'utf8')))
  }
}

/** Modules of which we import only functions and classes, and which take milliseconds to load: they are loaded by the first use. */
const LATE = [
  'node:child_process',
  'node:crypto',
  'node:dns/promises',
  'node:http',
  'node:readline/promises',
  'node:zlib',
]

function takenLate(some: string, builtin: string): string[] {
  const names = some
    .slice(1, -1)
    .split(',')
    .map(each => each.trim().split(/\s+as\s+/))
  return names.map(([name = '', local = name]) => {
    const use = `(${builtin}.${name})(...args)`
    return `function ${local}(...args){return new.target?new ${use}:${use}}`
  })
}

/**
 * Takes built-in modules without an ESM import, which reads every export of them and with that loads what the lazy ones need:
 * for `node:http` and `node:crypto` that is several milliseconds of every command. Every line keeps its number for the source map.
 */
function takeBuiltins(code: string): string {
  const taken: string[] = []
  const rest = code.replace(IMPORT, (statement, names: string, module: string) => {
    const builtin = `globalThis.process.getBuiltinModule(${JSON.stringify(module)})`
    const [, whole, some] = /^(?:\* as )?([\w$]+)?,?\s*(\{.*\})?$/s.exec(names.trim()) ?? []
    if (whole !== undefined) taken.push(`const ${whole}=${builtin};`)
    const isLate = LATE.includes(module) || (module === 'node:worker_threads' && some?.trim() === '{Worker}')
    if (some !== undefined && isLate) taken.push(...takenLate(some, builtin))
    else if (some !== undefined)
      taken.push(`const ${some.replaceAll(/\s+as\s+/g, ':').replaceAll(/\s+/g, ' ')}=${builtin};`)
    return statement.replaceAll(/[^\n]/g, '')
  })
  // Only the chunk with the shim for CommonJS packages needs what the banner defines.
  const needed = rest.includes('typeof require') ? taken : taken.filter(line => !line.includes('requireFor'))
  return [...needed, needed === taken ? rest : rest.replace(REQUIRE_CALL, '')].join('')
}
