import { cutDefinitions, cutText } from './chunks.ts'
import { findCalls } from './find-calls.ts'
import { parseTree } from './grammar.ts'
import { type CodeLanguage, languageOf } from './languages.ts'
import type { CodeImport, CodeInheritance, ParsedFile } from './parsed-file.ts'
import { readTree } from './read-tree.ts'

/** Reads one source file. A file without a grammar has only chunks. Never throws. */
export function parseSource(path: string, text: string): ParsedFile {
  const language = languageOf(path)
  const root = language && parseTree(language, text)
  if (!root) return { language: 'text', ...NOTHING, chunks: cutText(path, text) }
  const { definitions, imports } = readTree(root, language, text)
  return {
    language: language.name,
    definitions,
    imports: [...imports.flatMap(each => readImport(each, language)), ...importCalls(text, language)],
    calls: findCalls(root, { language, text, definitions }),
    inherits: definitions.flatMap(({ name, kind, signature }) =>
      kind === 'class' || kind === 'interface' ? basesOf(name, signature, language) : [],
    ),
    chunks: cutDefinitions(path, text, definitions),
  }
}

const NOTHING = { definitions: [], imports: [], calls: [], inherits: [] }

/** Names are cut off here: an import is read for its file. */
const MOST_NAMES = 200

function readImport(text: string, { importText, name }: CodeLanguage): CodeImport[] {
  if (!importText) return []
  const clean = text.replaceAll(name === 'python' ? /#.*/g : /\/\/.*|\/\*[^*]*\*\//g, '')
  if (importText.global)
    return [...clean.matchAll(importText)].map(({ groups }) => ({ from: groups?.from ?? '', names: [] }))
  const { from, names = '' } = importText.exec(clean)?.groups ?? {}
  const listed = names.replaceAll(/\bas\s+[\w$]+/g, '').match(/[\w$.]+/g) ?? []
  const kept = listed.filter(each => each !== 'type' && each !== 'typeof').slice(0, MOST_NAMES)
  // `import a, b` of Python: every name is a module.
  return from === undefined ? kept.map(each => ({ from: each, names: [] })) : [{ from, names: kept }]
}

function importCalls(text: string, { importCall }: CodeLanguage): CodeImport[] {
  if (!importCall) return []
  return [...text.matchAll(importCall)].map(({ groups }) => ({ from: groups?.from ?? groups?.again ?? '', names: [] }))
}

function basesOf(name: string, signature: string, { bases, name: language }: CodeLanguage): CodeInheritance[] {
  if (!bases) return []
  const listed = bases.exec(withoutPairs(signature, /<[^<>]*>/g))?.groups?.bases ?? ''
  const plain = language === 'python' ? listed : withoutPairs(listed, /\([^()]*\)/g)
  return plain
    .split(/,|\b(?:extends|implements|with)\b/)
    .filter(each => !each.includes('='))
    .flatMap(each => /([\w$]+)[\s()\][{]*$/.exec(each)?.[1] ?? [])
    .map(base => ({ name, base }))
}

/** Removes type parameters or arguments, from the inside out; deeper ones are nobody's base. */
function withoutPairs(text: string, pair: RegExp): string {
  let rest = text
  for (let depth = 0; depth < 4; depth += 1) rest = rest.replaceAll(pair, '')
  return rest
}
