/** An agent that asks which hue, and says what it was told. */
export const ASKS_FOR_A_HUE = `
  - match: ask me
    turns:
      - tools:
          - AskUserQuestion:
              questions: [{ question: Which hue?, header: Hue, multiSelect: false, options: [{ label: teal, description: "" }, { label: plum, description: "" }] }]
      - text: "You said: {{last_tool_result}}"`
