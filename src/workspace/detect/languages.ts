import { extname } from 'node:path'
import type { ProjectWalk } from './project-files.ts'

const BY_ENDING: Record<string, string> = {
  ts: 'TypeScript',
  tsx: 'TypeScript',
  mts: 'TypeScript',
  cts: 'TypeScript',
  js: 'JavaScript',
  jsx: 'JavaScript',
  mjs: 'JavaScript',
  cjs: 'JavaScript',
  vue: 'Vue',
  svelte: 'Svelte',
  astro: 'Astro',
  py: 'Python',
  pyi: 'Python',
  rs: 'Rust',
  go: 'Go',
  java: 'Java',
  kt: 'Kotlin',
  kts: 'Kotlin',
  scala: 'Scala',
  groovy: 'Groovy',
  clj: 'Clojure',
  rb: 'Ruby',
  php: 'PHP',
  cs: 'C#',
  fs: 'F#',
  vb: 'Visual Basic',
  c: 'C',
  h: 'C',
  cc: 'C++',
  cpp: 'C++',
  cxx: 'C++',
  hpp: 'C++',
  hh: 'C++',
  m: 'Objective-C',
  mm: 'Objective-C',
  swift: 'Swift',
  dart: 'Dart',
  ex: 'Elixir',
  exs: 'Elixir',
  erl: 'Erlang',
  hs: 'Haskell',
  ml: 'OCaml',
  mli: 'OCaml',
  zig: 'Zig',
  lua: 'Lua',
  pl: 'Perl',
  pm: 'Perl',
  r: 'R',
  jl: 'Julia',
  nim: 'Nim',
  cr: 'Crystal',
  sh: 'Shell',
  bash: 'Shell',
  sql: 'SQL',
  tf: 'Terraform',
  sol: 'Solidity',
}

/** The languages of a project by number of files, most first. */
export function countLanguages({ folders }: ProjectWalk): { name: string; files: number }[] {
  const counts = new Map<string, number>()
  for (const { files } of folders) {
    for (const file of files) {
      const language = languageOf(file)
      if (language !== undefined) counts.set(language, (counts.get(language) ?? 0) + 1)
    }
  }
  return [...counts]
    .map(([name, files]) => ({ name, files }))
    .sort((a, b) => b.files - a.files || (a.name < b.name ? -1 : 1))
}

const SOURCE_FOLDERS = new Set(
  'src lib app apps packages crates cmd internal pkg tests test spec specs server client frontend backend api web core modules services'.split(
    ' ',
  ),
)

/** Top-level folders with code: those with a usual name, or with a file of a known language directly in them. */
export function findSourceDirectories({ folders }: ProjectWalk): string[] {
  const top = folders.find(({ path }) => path === '.')?.folders ?? []
  const withCode = new Set(
    folders
      .filter(({ files }) => files.some(file => languageOf(file) !== undefined))
      .map(({ path }) => path.split('/')[0]),
  )
  return top
    .filter(name => withCode.has(name) && (SOURCE_FOLDERS.has(name) || hasCode(folders, name)))
    .map(name => `${name}/`)
}

function hasCode(folders: ProjectWalk['folders'], name: string): boolean {
  const own = folders.find(({ path }) => path === name)?.files ?? []
  return own.some(file => languageOf(file) !== undefined && !/^(docs?|scripts?|bench|tools?|hack|ci)$/.test(name))
}

function languageOf(file: string): string | undefined {
  const ending = extname(file).slice(1).toLowerCase()
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined
}
