/* global SwaggerUIBundle */
SwaggerUIBundle({ url: "openapi.json", dom_id: "#interface", deepLinking: true, validatorUrl: null });
