import type { ErrorRow } from './error-row.ts'

/** What goes wrong with the notes of a project. */
export const NOTE_ERRORS = {
  note_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no note "{ref}" in {folder}.',
    next: 'A note is named by its file or its title, or a beginning of one that is unique. See them with: pcc notes',
  },
  note_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" fits several notes: {matches}.',
    next: 'Give more of the name.',
  },
  note_refused: {
    exit: 2,
    http: 400,
    says: 'The note "{title}" was not written down: {why}.',
    next: 'What a note may be is in docs/journal.md.',
  },
  note_broken: {
    exit: 2,
    http: 400,
    says: '{file} is no note: {problem}. It is left out until it is mended.',
    next: 'Mend it with: pcc notes edit {file}',
  },
  editor_failed: {
    exit: 2,
    http: 400,
    says: 'The editor ({editor}) could not be used: {problem}.',
    next: 'Name another one in $EDITOR, or change the file yourself: {file}',
  },
} as const satisfies Record<string, ErrorRow>
