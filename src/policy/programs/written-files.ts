import { dirname } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall } from '../classify/call.ts'
import { findSpelled, staysInSandbox, wasWritten } from '../classify/judge-file.ts'
import { hidesTests } from '../classify/weaker-checks.ts'
import { readArchive, readHunks, readPatch, type WrittenNames } from '../paths/archive-names.ts'
import { type FoundFile, locatePath } from '../paths/fence.ts'
import { isLeftOver, isScratchFile, judgePath } from '../paths/judge-path.ts'
import { type Arg, deriveArg, findFlag, findOperands } from '../shell/args.ts'
import { comesFromNetwork } from './run-code.ts'

// Programs that write the files that another file names: a patch, an archive, a folder that is copied.

interface PatchCall {
  /** The files with patches; with none, the patch is the input. */
  files: readonly Arg[]
  /** The folder that the names are relative to. */
  folder: Arg | undefined
  /** How many folders are taken off the names; `undefined` for all of them, or as many as fit. */
  strip: number | undefined
}

/** Judges the files that patches write. A patch that cannot be read before it is applied is left to a person. */
export function judgePatch(call: ProgramCall, { files, folder, strip }: PatchCall): undefined {
  if (comesFromNetwork(call)) call.say('net.run', 'HIGH', 'a patch from the network is applied unseen')
  const { text, file, upstream } = call.feed
  const sources = files.length > 0 ? files : file ? [file] : []
  for (const source of sources) {
    const found = wasWritten(source, call) ? undefined : lookAt(call, source)
    const content = findSpelled(source, call) ?? (found?.is === 'file' ? found.bytes.toString('utf8') : undefined)
    const patch = content === undefined ? undefined : readPatch(content)
    judgeHunks(call, content, source, name => [folder?.value ?? '', stripPatchName(name, strip)[0] ?? ''])
    judgeNames(call, { written: patch, at: source, folder, spell: name => stripPatchName(name, strip) })
  }
  if (sources.length > 0) return
  const fed = text ?? upstream?.findLast(program => program.text !== undefined)?.text
  const at = fed ?? call.head
  const patch = fed?.known ? readPatch(fed.value) : undefined
  if (fed?.known) judgeHunks(call, fed.value, at, name => [folder?.value ?? '', stripPatchName(name, strip)[0] ?? ''])
  judgeNames(call, { written: patch, at, folder, spell: name => stripPatchName(name, strip) })
}

/** Judges what a patch makes of each file like an edit of it. */
function judgeHunks(call: ProgramCall, patch = '', at: Arg, spell: (name: string) => string[]): undefined {
  for (const { name, hunks } of readHunks(patch).slice(0, MAX_FOLDERS)) {
    if (name === '/dev/null') continue
    const added = hunks.map(({ to }) => to).join('\n')
    const apply = (had: string) =>
      hunks.reduce<string | undefined>(
        (text, { from, to }) => (text?.includes(from) ? text.replace(from, () => to) : undefined),
        had,
      )
    const path = spell(name).filter(Boolean).join('/')
    const file = { ...deriveArg(path, at), text: path }
    // With a text that it puts in, the file is read.
    call.change(file, had => (had === undefined ? { after: added, inserted: '' } : { after: apply(had), added }))
  }
}

function stripPatchName(name: string, strip: number | undefined): string[] {
  const parts = name.split(/\/+/)
  if (strip !== undefined) return [parts.slice(Math.min(strip, parts.length - 1)).join('/')]
  return [name, parts.slice(1).join('/'), parts.at(-1) ?? name].filter(part => part !== '')
}

/** Judges the files that an archive would write, and returns whether they are known. If not, the program's own rule asks. */
export function judgeArchive(call: ProgramCall, file: Arg | undefined, folder: Arg | undefined, strip = 0): boolean {
  const found = file && lookAt(call, file)
  const written = found?.is === 'file' ? readArchive(found.bytes) : undefined
  if (!file || !written) return false
  judgeNames(call, { written, at: file, folder, spell: name => [name.split('/').slice(strip).join('/')] })
  return true
}

/** Whether the folder into which files are unpacked is there and empty, in the project or in /tmp. */
export function isEmptyFolder(call: ProgramCall, folder: Arg | undefined): boolean {
  const { scope, fence } = call
  if (folder === undefined || scope.cwd === undefined || !staysInSandbox(folder, call)) return false
  const place = locatePath(folder.value, scope.cwd, fence)
  const found = place.where === 'strange' ? undefined : fence.look?.(place.path)
  return found?.is === 'folder' && found.names.length === 0
}

/**
 * Packing files of the project into an archive there is like a copy of them. Whole projects are left to a person, because they hold secrets,
 * and so is an archive whose name could be that of another file.
 */
export function judgePacked(
  call: ProgramCall,
  archive: Arg | undefined,
  sources: readonly Arg[],
  isPlain: boolean,
): undefined {
  const { scope, fence } = call
  const isOwn = (arg: Arg) => {
    const place = locatePath(arg.value, scope.cwd ?? fence.boundary, fence)
    return arg.known && place.where === 'inside' && place.relative !== '' && !/(^|\/)\.[\w*?[]|^[*?[]/.test(arg.value)
  }
  const isUsual =
    isPlain &&
    scope.cwd !== undefined &&
    archive !== undefined &&
    /^[\w./@-]+\.(tar(\.\w+)?|tgz|tbz2?|txz|zip|7z)$/.test(archive.value) &&
    sources.length > 0 &&
    sources.every(isOwn)
  const isScratch = sources.every(isOwn) && archive !== undefined && isScratchFile(archive.value, fence) && isPlain
  call.say(
    isUsual || (isScratch && sources.length > 0) ? 'file.make' : 'file.archive',
    'MEDIUM',
    `${call.name} packs files`,
  )
  for (const arg of sources) call.secret(arg)
  if (archive && archive.value !== '-') call.path(archive, 'write')
}

interface JudgedNames {
  written: WrittenNames | undefined
  at: Arg
  folder: Arg | undefined
  /** The paths that a name may become. */
  spell: (name: string) => string[]
}

/** More folders than this are not followed on the disk. */
const MAX_FOLDERS = 64

function judgeNames(call: ProgramCall, { written, at, folder, spell }: JudgedNames): undefined {
  if (written === undefined)
    return call.say('write.unseen', 'MEDIUM', `it is not known which files ${at.text} writes`, at)
  const out = written.links.find(target => target.startsWith('/') || target.split('/').includes('..'))
  if (out !== undefined) call.say('file.link-out', 'HIGH', `${at.text} holds a link that leads out of its folder`, at)
  const base = folder?.known ? `${folder.value}/` : ''
  const folders = new Set<string>()
  for (const name of written.names)
    for (const spelled of spell(name)) {
      if (spelled === '' || spelled.endsWith('/')) continue
      const path = spelled.startsWith('/') ? spelled : `${base}${spelled}`
      // A plain name is ordinary if its folder is: a link may lead out.
      const isPlain = !path.startsWith('/') && !/(^|\/)\.|[^\w./@+-]/.test(path)
      if (isPlain && folders.has(dirname(path))) continue
      if (folders.size >= MAX_FOLDERS)
        return call.say('write.unseen', 'MEDIUM', `${at.text} writes files in very many folders`, at)
      folders.add(dirname(path))
      judgeWrittenPath(call, path, at)
    }
}

function judgeWrittenPath(call: ProgramCall, path: string, at: Arg): undefined {
  const { cwd } = call.scope
  if (cwd === undefined) return call.path(deriveArg(path, at), 'write')
  call.change(deriveArg(path, at), () => ({ after: undefined }))
  const reason = judgePath(path, 'write', { cwd, fence: call.fence })
  if (reason.risk !== 'LOW') call.say(reason.code, reason.risk, `${at.text} writes ${reason.text}`, at)
}

/**
 * Judges a folder that is copied as a whole into another: its files keep their names there. Only files that steer the agent, git or
 * programs at the top of the project count, because a copy of a whole project elsewhere in it is harmless.
 */
function judgeCopiedFolder(call: ProgramCall, source: Arg, target: Arg): undefined {
  const found = lookAt(call, source)
  if (found?.is !== 'folder' || call.scope.cwd === undefined || !target.known) return
  const inner = source.value.replace(/\/+$/, '').replace(/^.*\//, '')
  const left = new Set(call.args.flatMap(arg => /^--exclude=\/?(.+?)\/?$/.exec(arg.value)?.[1] ?? []))
  for (const name of found.names) {
    if (left.has(name.split('/')[0] ?? '') || !/(^|\/)\./.test(name)) continue
    for (const path of [`${target.value}/${name}`, `${target.value}/${inner}/${name}`]) {
      const place = locatePath(path, call.scope.cwd, call.fence)
      if (place.where !== 'inside' || !place.relative.startsWith('.')) continue
      const { code, risk, text } = judgePath(path, 'write', { cwd: call.scope.cwd, fence: call.fence })
      if (risk === 'HIGH') return call.say(code, risk, `${source.text} holds ${name}: ${text}`, source)
    }
  }
}

/** What a word names, if it is in the project: files elsewhere are not read. */
function lookAt({ scope, fence }: ProgramCall, arg: Arg): FoundFile | undefined {
  if (!arg.known || arg.glob || scope.cwd === undefined) return undefined
  const place = locatePath(arg.value, scope.cwd, fence)
  return place.where === 'inside' ? fence.look?.(place.path) : undefined
}

/** Flags of cp, mv and install that take the next word; those of rsync are other ones. */
const COPY_VALUES = ['-t', '-S', '-m', '-o', '-g', '--target-directory', '--suffix', '--mode', '--owner', '--group']
const RSYNC_VALUES = ['-e', '-f', '-T', '-B', '-M', '--rsh', '--filter', '--exclude', '--include', '--suffix']

/** What is copied, and where to: the last word, or that of a flag, which rsync does not have. */
function readCopy({ name, args }: ProgramCall): { sources: Arg[]; target: Arg | undefined } {
  if (name.endsWith('rsync')) {
    const operands = findOperands(args, RSYNC_VALUES)
    return { sources: operands.slice(0, -1), target: operands.at(-1) }
  }
  const operands = findOperands(args, COPY_VALUES)
  const into = findFlag(args, ['-t', '--target-directory'], 'tSmog')
  return into ? { sources: operands, target: into.value } : { sources: operands.slice(0, -1), target: operands.at(-1) }
}

export function findSources(call: ProgramCall): Arg[] {
  return readCopy(call).sources
}

export function copy(code: string, text: string, risk: 'MEDIUM' | 'HIGH' = 'MEDIUM') {
  return (call: ProgramCall): undefined => {
    call.say(code, risk, `${call.name} ${text}`)
    const { sources, target } = readCopy(call)
    const links = findFlag(call.args, ['-l', '-s', '--link', '--symbolic-link', '--link-dest'], 'tSmog')
    const whole = findFlag(call.args, ['-r', '-R', '-a', '--recursive', '--archive'], 'tSmog')
    // A flag of rsync that is not known may take the last word: each but the first may be the target.
    if (call.name.endsWith('rsync')) for (const arg of sources.slice(1)) call.path(arg, 'write')
    for (const arg of sources) {
      if (links && /^(cp|gcp|rsync)$/.test(call.name) && leadsOut(call, arg))
        call.say('file.link-out', 'HIGH', `${links.arg.text} makes links that lead out of the project`, links.arg)
      if (whole && isEverything(arg.value, call.scope.home))
        call.say('read.everything', 'HIGH', `${arg.text} is everything a person has, secrets too`, arg)
      // If the target is a folder, the file keeps its name in it.
      const isScratch = target !== undefined && sources.length === 1 && isScratchFile(target.value, call.fence)
      if (
        target?.known &&
        arg.known &&
        !isScratch &&
        !isFile(call, target.value, pathInFolder(target.value, arg.value))
      )
        call.path(deriveArg(pathInFolder(target.value, arg.value), target), 'write')
      if (whole && target) judgeCopiedFolder(call, arg, target)
      if (target) judgeReplaced(call, arg, target)
      const isFound = arg.value.includes('{found}') && target !== undefined
      if (target && code === 'file.move' && hidesTests(isFound ? 'tests/x' : arg.value, target.value))
        call.say('file.replace', 'MEDIUM', `${arg.text} are tests, which nothing would run any more`, arg)
      if (arg.value === '/dev/null') call.say('file.delete', 'HIGH', 'a copy of nothing empties a file', arg)
      call.path(arg, 'read')
    }
    if (target?.value === '/dev/null' && code === 'file.move')
      call.say('file.delete', 'HIGH', 'it moves files into nothing', target)
    if (target && isFilledIn(call, target))
      return call.settle('path.secret', 'HIGH', `${target.text} is where secrets are kept`, target)
    if (target && !/^[^/]+:/.test(target.value)) call.path(target, 'write')
  }
}

/** A copy or a move must not replace a file that holds something else, and what a file becomes that gives commands to others is judged. */
function judgeReplaced(call: ProgramCall, source: Arg, target: Arg): undefined {
  const { scope, fence } = call
  if (fence.look === undefined || scope.cwd === undefined || !source.known || !target.known || scope.folders.size > 1)
    return
  if (scope.absent === target.value) return
  if (call.args.some(arg => /^(-[a-zA-Z]*[nb]|--no-clobber|--backup|--update=none)/.test(arg.value))) return
  const [from, to] = [source, target].map(({ value }) => locatePath(value, scope.cwd ?? '', fence))
  if (to?.where !== 'inside' || from === undefined || from.where === 'strange') return
  const there = fence.look(to.path)
  const isWhole = /\/\.?$/.test(source.value) || source.glob
  if (there?.is === 'folder' || to.path === fence.boundary) {
    const into = isWhole ? target.value : pathInFolder(target.value, source.value)
    const found = from.where === 'inside' ? fence.look(from.path) : undefined
    // What is copied is not known, or its files lie over those of the project.
    const names = found?.is === 'folder' ? found.names : found?.is === 'file' ? [''] : undefined
    const isLost = (name: string) => {
      const place = locatePath(`${into}/${name}`.replace(/\/$/, ''), scope.cwd ?? '', fence)
      const before = place.where === 'inside' ? fence.look?.(place.path) : undefined
      return before?.is === 'file' && before.bytes.length > 0 && !isSame(before.bytes, found)
    }
    const isUnseen = names === undefined && isWhole && !source.glob
    if (!isLeftOver(to.relative) && (isUnseen || (!source.glob && names?.slice(0, MAX_REPLACED).some(isLost))))
      call.say('file.replace', 'MEDIUM', `${source.text} lies over files of the project`, source)
    if (!isWhole) changeBy(call, source, deriveArg(into, target))
    return
  }
  const found = from.where === 'inside' ? fence.look(from.path) : undefined
  const isLost =
    there?.is === 'file' &&
    there.bytes.toString('utf8').trim() !== '' &&
    !isSame(there.bytes, found) &&
    !wasWritten(source, call)
  if (isLost && !isLeftOver(to.relative))
    call.say('file.replace', 'MEDIUM', `what is in ${target.text} would be lost`, target)
  changeBy(call, source, target)
}

/** More files than this are not compared. */
const MAX_REPLACED = 200

function isSame(bytes: Buffer, found: FoundFile | undefined): boolean {
  return found?.is === 'file' && found.bytes.equals(bytes)
}

/** A file becomes what another one holds, which the same command may have spelled out. */
function changeBy(call: ProgramCall, source: Arg, target: Arg): undefined {
  const { scope, fence } = call
  const place = locatePath(source.value, scope.cwd ?? fence.boundary, fence)
  const found = place.where === 'inside' && !wasWritten(source, call) ? fence.look?.(place.path) : undefined
  const after = findSpelled(source, call) ?? (found?.is === 'file' ? found.bytes.toString('utf8') : undefined)
  call.change(target, () => ({ after, whole: true }))
}

/** `cp .env.example .env`: the one file is the template of the other, which does not exist yet. */
function isFilledIn(call: ProgramCall, target: Arg): boolean {
  const { scope, fence } = call
  const [source, ...others] = findSources(call)
  if (call.name !== 'cp' || source === undefined || others.length > 0 || scope.cwd === undefined) return false
  if (!source.known || !target.known || !isTemplateOf(source.value, target.value)) return false
  const place = locatePath(target.value, scope.cwd, fence)
  if (place.where !== 'inside' || call.scope.folders.size > 1) return false
  const keeps = call.args.some(arg => /^(-[a-z]*n[a-z]*|--no-clobber|--update=none)$/.test(arg.value))
  return keeps || scope.absent === target.value || fence.look?.(place.path) === undefined
}

function isTemplateOf(template: string, file: string): boolean {
  return (
    /(^|\/)\.env(\.[\w-]+)?$/.test(file) &&
    /(^|\/)\.?env[\w.-]*[._-](example|sample|template|dist|tmpl|default)s?$/.test(template)
  )
}

/** Whether the target is an existing file: then it is replaced, and is no folder for the copy. */
function isFile({ scope, fence }: ProgramCall, target: string, within: string): boolean {
  if (scope.cwd === undefined) return false // the folder is not known
  return [scope.cwd, ...scope.folders].every(folder => {
    const below = locatePath(within, folder, fence)
    return locatePath(target, folder, fence).where !== 'strange' && below.where === 'strange' && below.lost === true
  })
}

function pathInFolder(folder: string, file: string): string {
  return `${folder.replace(/\/+$/, '')}/${file.replace(/\/+$/, '').replace(/^.*\//, '')}`
}

function isEverything(path: string, home: string): boolean {
  const bare = path.replace(/\/+$/, '')
  return /^(|\/home|\/root|\/Users|\/etc)$/.test(bare) || bare === home
}

export function leadsOut(call: ProgramCall, arg: Arg): boolean {
  if (/^(\/|~)/.test(arg.value)) return !isInside(arg.value, call.fence.boundary)
  // A relative target is resolved from the link's folder; more `..` than names may lead out.
  return arg.value.split('/').filter(part => part === '..').length > 1
}
