import { posix } from 'node:path'
import type { CodeDefinition, ParsedFile } from '../../base/syntax/parsed-file.ts'
import type { IndexFile } from '../index/index-file.ts'
import { filesThatDefine } from '../index/rank.ts'
import { readParsed } from '../index/write-files.ts'
import { filesThatMention, possibleImporters } from './graph-tables.ts'
import { PathIndex, resolveImport } from './resolve-import.ts'

/** A definition and the file that it is in. */
export interface DefinedIn {
  path: string
  definition: CodeDefinition
}

/** A call that was found. */
export interface FoundCall {
  name: string
  path: string
  line: number
  /** The function around it. */
  inside?: string
}

/** In these, files of one folder see one another without an import. */
const FOLDER_IS_PACKAGE = new Set(['go', 'java', 'kotlin', 'csharp', 'swift', 'c', 'cpp'])
/** A method can be called by files that do not import its class. Of the files that contain its name, so many are looked at. */
const MOST_MENTIONS = 60
/** Methods that the standard objects of languages have: a call of such a name says nothing about a class of the project. */
const GENERIC_METHODS = new Set(
  `add all any append apply bind call catch clear clone close collect concat contains copy count decode delete emit encode end endsWith endswith entries
   equals every exec expect extend fill filter finally find findIndex first flat flatMap flush forEach format get hashCode has includes index indexOf
   insert into isEmpty is_empty items iter join keys last len length lower map match max min next off on once open pop push put read reduce reject remove
   replace resolve return reverse run search send set shift size slice some sort splice split start startsWith startswith stop strip sum test then throw
   toJSON toString to_string trim unshift unwrap update upper values valueOf wait write Close Error Read String Write`.split(
    /\s+/,
  ),
)

/** The steps from one file or definition to the next. Everything is read from the index and kept until the question is answered. */
export class CodeGraph {
  readonly #index: IndexFile
  readonly #files = new Map<string, number>()
  readonly #parsed = new Map<string, ParsedFile | undefined>()
  readonly #paths: PathIndex

  constructor(index: IndexFile) {
    this.#index = index
    for (const { id, path } of index.rows<{ id: number; path: string }>('select id, path from files'))
      this.#files.set(path, id)
    this.#paths = new PathIndex(this.#files.keys())
  }

  has(path: string): boolean {
    return this.#files.has(path)
  }

  parsed(path: string): ParsedFile | undefined {
    if (!this.#parsed.has(path)) {
      const id = this.#files.get(path)
      this.#parsed.set(path, id === undefined ? undefined : readParsed(this.#index, id))
    }
    return this.#parsed.get(path)
  }

  /** Every definition of a name; `Store.save` names one inside of another. */
  find(name: string): DefinedIn[] {
    const words = name.split(/[.:#]+/)
    const [container, own] = [words.at(-2), words.at(-1) ?? '']
    const ids = filesThatDefine(this.#index, own)
    const paths = [...this.#files].filter(([, id]) => ids.has(id)).map(([path]) => path)
    return paths.flatMap(path =>
      this.#defined(path, own).filter(
        ({ definition }) => container === undefined || definition.container === container,
      ),
    )
  }

  imports(path: string): { from: string; names: string[]; paths: string[] }[] {
    const parsed = this.parsed(path)
    if (!parsed) return []
    const at = { path, language: parsed.language }
    return parsed.imports.map(each => ({
      ...each,
      paths: resolveImport(each, at, this.#paths).filter(found => found !== path),
    }))
  }

  importers(path: string): string[] {
    return possibleImporters(this.#index, path)
      .map(file => file.path)
      .filter(other => this.#imports(other, path))
  }

  /** What a definition calls, as far as it is known which definition that is. */
  calls({ path, definition }: DefinedIn): DefinedIn[] {
    const inside = qualified(definition)
    const names = new Set(
      this.parsed(path)
        ?.calls.filter(call => call.inside === inside)
        .map(({ name }) => name),
    )
    return unique([...names].flatMap(name => this.#meaningOf(name, path))).filter(
      found => keyOf(found) !== keyOf({ path, definition }),
    )
  }

  /** Where a definition is called. */
  callers({ path, definition }: DefinedIn): FoundCall[] {
    const { name, kind, container } = definition
    if (isGeneric(definition)) return []
    const meanings = this.find(name).filter(each => each.path !== path)
    const importers = this.importers(path).filter(other =>
      this.imports(other).some(
        ({ paths, names }) =>
          paths.includes(path) &&
          (kind === 'method' ||
            names.length === 0 ||
            names.includes(name) ||
            names.includes(container ?? '') ||
            !usesNames(this.parsed(other))),
      ),
    )
    const mentioning = kind === 'method' && meanings.length === 0 ? this.#mentioning(name) : []
    const candidates = new Set([path, ...importers, ...this.#neighbours(path), ...mentioning])
    // A file that uses another class with such a method, too, may mean either.
    const isUnsure = (other: string) =>
      other !== path &&
      kind === 'method' &&
      meanings.some(each => each.path === other || this.#imports(other, each.path))
    return [...candidates]
      .filter(other => !isUnsure(other))
      .flatMap(other =>
        (this.parsed(other)?.calls ?? [])
          .filter(
            call =>
              call.name === name && (other === path || kind === 'method' || this.#defined(other, name).length === 0),
          )
          .map(call => ({
            name,
            path: other,
            line: call.line,
            ...(call.inside !== undefined && { inside: call.inside }),
          })),
      )
  }

  bases({ path, definition }: DefinedIn): DefinedIn[] {
    const named = this.parsed(path)?.inherits.filter(({ name }) => name === definition.name) ?? []
    return unique(named.flatMap(({ base }) => this.#meaningOf(base, path)))
  }

  heirs({ path, definition }: DefinedIn): DefinedIn[] {
    const candidates = [path, ...this.importers(path), ...this.#neighbours(path)]
    return unique(
      candidates.flatMap(other => {
        const heirs = this.parsed(other)?.inherits.filter(({ base }) => base === definition.name) ?? []
        return heirs.flatMap(({ name }) => this.#defined(other, name).slice(0, 1))
      }),
    )
  }

  #imports(path: string, other: string): boolean {
    return this.imports(path).some(({ paths }) => paths.includes(other))
  }

  /** What a name means in a file: its own definition, an imported one, or the only method that there is. */
  #meaningOf(name: string, path: string): DefinedIn[] {
    return this.#nearestMeaning(name, path).filter(({ definition }) => !isGeneric(definition))
  }

  #nearestMeaning(name: string, path: string): DefinedIn[] {
    const own = this.#defined(path, name)
    if (own.length > 0) return own.slice(0, 1)
    const imported = this.imports(path).flatMap(({ paths, names }) =>
      names.length === 0 || names.includes(name) || !usesNames(this.parsed(path))
        ? paths.flatMap(other => this.#defined(other, name))
        : [],
    )
    if (imported.length > 0) return unique(imported).slice(0, 1)
    const beside = this.#neighbours(path).flatMap(other => this.#defined(other, name))
    if (beside.length > 0) return beside.slice(0, 1)
    const anywhere = this.find(name)
    return anywhere.length === 1 && anywhere[0]?.definition.kind === 'method' ? anywhere : []
  }

  #defined(path: string, name: string): DefinedIn[] {
    return (this.parsed(path)?.definitions ?? [])
      .filter(each => each.name === name)
      .map(definition => ({ path, definition }))
  }

  #neighbours(path: string): string[] {
    const language = this.parsed(path)?.language ?? ''
    if (!FOLDER_IS_PACKAGE.has(language)) return []
    return this.#paths
      .inFolder(posix.dirname(path), [path.slice(path.lastIndexOf('.') + 1)])
      .filter(other => other !== path)
  }

  #mentioning(name: string): string[] {
    const ids = filesThatMention(this.#index, name, MOST_MENTIONS)
    return [...this.#files].filter(([, id]) => ids.has(id)).map(([path]) => path)
  }
}

/** Whether methods of this name are so common that callers cannot be found, because the type of the object is not known. */
function isGeneric({ kind, name }: CodeDefinition): boolean {
  return kind === 'method' && GENERIC_METHODS.has(name)
}

/** Whether imports of the language name what they take. */
function usesNames(parsed: ParsedFile | undefined): boolean {
  return /^(?:TypeScript|Tsx|JavaScript|python)$/.test(parsed?.language ?? '')
}

/** `Store.save`, or `save` outside of a class. */
export function qualified({ name, container }: CodeDefinition): string {
  return container === undefined ? name : `${container}.${name}`
}

export function keyOf({ path, definition }: DefinedIn): string {
  return `${path}#${qualified(definition)}`
}

function unique(found: readonly DefinedIn[]): DefinedIn[] {
  return [...new Map(found.map(each => [keyOf(each), each])).values()]
}
